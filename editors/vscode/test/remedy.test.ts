import assert from "node:assert/strict";
import { test } from "node:test";
import { commandIn } from "../src/remedy";

test("the command that a message names can be run", () => {
  const message = "model 'tiny' is not pulled: run `draftline models pull owner/tiny-0.5b`";

  assert.deepEqual(commandIn(message), ["models", "pull", "owner/tiny-0.5b"]);
  assert.deepEqual(commandIn("it has crashed; run `draftline doctor`"), ["doctor"]);
});

test("a command with something to fill in is no button", () => {
  assert.equal(commandIn("run `draftline models pull NAME`"), undefined);
});

test("only what is harmless to run becomes a button", () => {
  assert.equal(commandIn("see `draftline serve --tcp`"), undefined);
  assert.equal(commandIn("run `draftline models remove tiny`"), undefined);
  assert.equal(commandIn("run `draftline doctor; rm x`"), undefined);
  assert.equal(commandIn("run draftline doctor"), undefined);
});
