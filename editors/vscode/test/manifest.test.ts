import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import manifest from "../package.json";

test("there are at most eight settings", () => {
  assert.ok(Object.keys(manifest.contributes.configuration.properties).length <= 8);
});

test("a folder cannot say which program is started", () => {
  assert.equal(manifest.contributes.configuration.properties["draftline.path"].scope, "machine");
});

test("each command of the palette is registered", () => {
  const source = readFileSync("src/commands.ts", "utf8");

  for (const { command } of manifest.contributes.commands) {
    assert.ok(source.includes(`register("${command}"`), command);
  }
});

test("the lock file names no host", () => {
  assert.doesNotMatch(readFileSync("package-lock.json", "utf8"), /"resolved"/);
});
