import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedId } from "../src/accepted";
import { Tally } from "../src/tally";

test("a completion that is typed along counts once, its candidates as one", () => {
  const tally = new Tally();
  tally.answered([7, 7, 7], 120);
  tally.answered([7], 2);
  tally.answered([8], 90);
  tally.accepted(7);

  assert.deepEqual(tally.figures, { lastMs: 90, offered: 2, accepted: 1 });
});

test("an answer without text leaves the figures as they are", () => {
  const tally = new Tally();
  tally.answered([], 5);

  assert.deepEqual(tally.figures, { lastMs: undefined, offered: 0, accepted: 0 });
});

test("an accept is known by the server's command, whatever its process", () => {
  assert.equal(acceptedId({ command: "draftline.accepted.1f00ab2c", arguments: [12] }), 12);
});

test("other commands are no accepts", () => {
  assert.equal(acceptedId(undefined), undefined);
  assert.equal(acceptedId({ command: "draftline.explain.1f00ab2c", arguments: [12] }), undefined);
  assert.equal(acceptedId({ command: "other.accepted.1", arguments: [12] }), undefined);
  assert.equal(acceptedId({ command: "draftline.accepted.1f00ab2c", arguments: ["12"] }), undefined);
});
