import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsForServer } from "../src/settings";

test("the server gets all but the extension's own setting", () => {
  const section = { path: "/a/b", enabled: true, languages: null, debounceMs: 30 };

  assert.deepEqual(settingsForServer(section, false), { enabled: true, languages: null, debounceMs: 30 });
});

test("a misspelt setting reaches the server, which names it", () => {
  assert.deepEqual(settingsForServer({ maxToken: 3 }, false), { maxToken: 3 });
});

test("a pause switches ghost text off and leaves the rest; the end of it brings back what was set", () => {
  const section = { path: "", enabled: true, maxTokens: 8 };

  assert.deepEqual(settingsForServer(section, true), { enabled: false, maxTokens: 8 });
  assert.deepEqual(settingsForServer({ enabled: false }, false), { enabled: false });
});

test("no section is no setting", () => {
  assert.deepEqual([null, undefined].map((section) => settingsForServer(section, false)), [{}, {}]);
  assert.deepEqual(settingsForServer(null, true), { enabled: false });
});
