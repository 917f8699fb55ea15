import assert from "node:assert/strict";
import { test } from "node:test";
import { percentage, statusText } from "../src/status";

const NOTHING_YET = { lastMs: undefined, offered: 0, accepted: 0 };

test("loading shows how far it is, where that is known", () => {
  const at = (message: string) => statusText({ state: "loading", message, model: "" }, NOTHING_YET).label;

  assert.equal(at("preparing tiny in int8: 40 %"), "$(loading~spin) draftline 40 %");
  assert.equal(at("loading the model"), "$(loading~spin) draftline");
});

test("a percentage is a number from 0 to 100 before a percent sign, nothing else", () => {
  assert.deepEqual(["0 %", "at 7 % of it", "100 %"].map(percentage), [0, 7, 100]);
  assert.deepEqual(["1240 %", "40%", "40 files", ""].map(percentage), [undefined, undefined, undefined, undefined]);
});

test("a ready state that names a percentage does not look like loading", () => {
  const text = statusText({ state: "ready", message: "tiny is ready, 80 % of its memory", model: "tiny" }, NOTHING_YET);

  assert.equal(text.label, "$(pencil) draftline");
  assert.equal(text.isError, false);
});

test("an error says what to do, and says it once", () => {
  const remedy = "run `draftline models pull tiny`";
  const named = statusText({ state: "error", message: `no model; ${remedy}`, model: "", remedy }, NOTHING_YET);
  const unnamed = statusText({ state: "error", message: "no model", model: "", remedy }, NOTHING_YET);

  assert.deepEqual(named.tooltip, [`error: no model; ${remedy}`]);
  assert.deepEqual(unnamed.tooltip, ["error: no model", `what to do: ${remedy}`]);
  assert.ok(named.isError);
});

test("the model is named unless the message does", () => {
  const tooltip = (message: string) => statusText({ state: "ready", message, model: "tiny" }, NOTHING_YET).tooltip;

  assert.deepEqual(tooltip("completions come"), ["ready: completions come", "model: tiny"]);
  assert.deepEqual(tooltip("tiny is ready"), ["ready: tiny is ready"]);
});

test("figures are told after the first answer", () => {
  const figures = { lastMs: 91.7, offered: 5, accepted: 2 };
  const { tooltip } = statusText({ state: "paused", message: "paused in this window", model: "" }, figures);

  assert.deepEqual(tooltip.slice(1), ["last answer: 92 ms", "accepted: 2 of 5 completions in this window"]);
});
