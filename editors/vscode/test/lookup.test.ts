import assert from "node:assert/strict";
import { test } from "node:test";
import { findServer, type Machine, missing } from "../src/lookup";

function linux(...programs: string[]): Machine {
  const isProgram = (file: string) => programs.includes(file);
  return { platform: "linux", home: "/home/me", path: "/usr/bin:.:/opt/bin", isProgram };
}

function windows(...programs: string[]): Machine {
  return { ...linux(...programs), platform: "win32", home: "C:\\me", path: "C:\\bin;D:\\bin" };
}

test("without a setting the PATH comes first, then the folder of pipx and uv", () => {
  assert.equal(findServer("", linux("/opt/bin/draftline", "/home/me/.local/bin/draftline")), "/opt/bin/draftline");
  assert.equal(findServer(" ", linux("/home/me/.local/bin/draftline")), "/home/me/.local/bin/draftline");
  assert.equal(findServer("", linux("/opt/homebrew/bin/draftline")), "/opt/homebrew/bin/draftline");
});

test("the open folder is never searched, also where the PATH names it", () => {
  assert.equal(findServer("", linux("draftline", "./draftline")), undefined);
});

test("a path is taken as it is, with the home folder for ~", () => {
  assert.equal(findServer("/a/b", linux("/a/b")), "/a/b");
  assert.equal(findServer("~/bin/draftline", linux("/home/me/bin/draftline")), "/home/me/bin/draftline");
});

test("a path without a program is not replaced by another program", () => {
  assert.equal(findServer("/a/b", linux("/usr/bin/draftline")), undefined);
  assert.equal(findServer("bin/draftline", linux("bin/draftline")), undefined);
});

test("a name is looked for on the PATH", () => {
  assert.equal(findServer("mine", linux("/opt/bin/mine", "/opt/bin/draftline")), "/opt/bin/mine");
  assert.equal(findServer("~draftline", linux("/opt/bin/draftline")), undefined);
});

test("programs of Windows end in .exe", () => {
  assert.equal(findServer("", windows("D:\\bin\\draftline.exe")), "D:\\bin\\draftline.exe");
  assert.equal(findServer("C:\\x\\draftline.exe", windows("C:\\x\\draftline.exe")), "C:\\x\\draftline.exe");
});

test("who has set nothing is told to install, who has set a path sees it", () => {
  assert.equal(missing("").help, "install");
  assert.equal(missing("/a/b").help, "settings");
  assert.match(missing("/a/b").message, /"\/a\/b"/);
});
