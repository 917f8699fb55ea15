import assert from "node:assert/strict";
import { test } from "node:test";
import { entries } from "../src/explanation";

function entry(uri: string, secondsAgo: number) {
  return entries([{ uri, reason: "suppressed:inside_word", sentence: "The cursor is inside a word.", secondsAgo }])[0];
}

test("an entry names the file, the reason and when", () => {
  assert.deepEqual(entry("file:///project/my%20file.py", 2.4), {
    label: "my file.py",
    description: "2 s ago · suppressed:inside_word",
    detail: "The cursor is inside a word.",
    uri: "file:///project/my%20file.py",
  });
});

test("long ago is told in minutes and hours", () => {
  assert.match(entry("file:///a.py", 130)?.description ?? "", /^2 min ago/);
  assert.match(entry("file:///a.py", 7300)?.description ?? "", /^2 h ago/);
});

test("a cell has its notebook's name; a name that is no encoding stays as it is", () => {
  assert.equal(entry("vscode-notebook-cell:/project/a.ipynb#W0sZ", 1)?.label, "a.ipynb");
  assert.equal(entry("untitled:Untitled-1", 1)?.label, "untitled:Untitled-1");
  assert.equal(entry("file:///project/100%.py", 1)?.label, "100%.py");
});
