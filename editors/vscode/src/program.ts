/** The program `draftline` of this machine: found, and run where its output can be read. */

import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { findServer, type Missing, missing } from "./lookup";

/** The absolute path of the program that the settings name, or why there is none. */
export function lookFor(): string | Missing {
  const setting = vscode.workspace.getConfiguration("draftline").get("path", "");
  const machine = { platform: process.platform, home: homedir(), path: process.env["PATH"] ?? "", isProgram };
  return findServer(setting, machine) ?? missing(setting);
}

/** What the program prints; rejects where it fails. */
export async function output(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { cwd: homedir(), timeout: 60_000 });
  return stdout;
}

/** Starts the program in a terminal, which stays open when it has ended. */
export async function runInTerminal(program: string, args: readonly string[]): Promise<void> {
  const name = `draftline ${args.join(" ")}`;
  const run = new vscode.ProcessExecution(program, [...args], { cwd: homedir() });
  const task = new vscode.Task({ type: "process" }, vscode.TaskScope.Workspace, name, "draftline", run, []);
  task.presentationOptions = { clear: true, showReuseMessage: false, focus: false };
  await vscode.tasks.executeTask(task);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
