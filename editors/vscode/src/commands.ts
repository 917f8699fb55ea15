/** What the person can ask for: each function is one command. */

import * as vscode from "vscode";
import { MessageType } from "vscode-languageclient/node";
import { MENU } from "./bar";
import { entries } from "./explanation";
import { parseModels } from "./models";
import { lookFor, output, runInTerminal } from "./program";
import { commandIn } from "./remedy";
import type { Help, Message, Service } from "./service";

const EXTENSION = "draftline.draftline";

interface Action {
  readonly label: string;
  readonly run: () => unknown;
}

export function registerCommands(service: Service): vscode.Disposable {
  const register = (name: string, run: () => unknown) => vscode.commands.registerCommand(name, run);
  return vscode.Disposable.from(
    register("draftline.pause", () => pause(service)),
    register("draftline.explain", () => explain(service)),
    register("draftline.stats", () => runIfThere(service, ["stats"])),
    register("draftline.pull", () => pull(service)),
    register("draftline.restart", () => restart(service)),
    register(MENU, () => showMenu(service)),
    service.onMessage((message) => showMessage(service, message)),
  );
}

/** Starts the server anew, or says why it can't. */
export async function restart(service: Service): Promise<void> {
  const found = lookFor();
  if (typeof found === "string") {
    await service.start(found);
    return;
  }
  await service.stop();
  service.fail(found.message, found.help);
}

async function pause(service: Service): Promise<void> {
  if (vscode.workspace.getConfiguration("draftline").get("enabled", true)) {
    await service.pause(!service.isPaused());
    return;
  }
  const button = "Open Settings";
  const chosen = await vscode.window.showInformationMessage("The setting draftline.enabled is off.", button);
  if (chosen === button) {
    await openSettings();
  }
}

async function explain(service: Service): Promise<void> {
  const explanation = await service.explain();
  const status = explanation?.status ?? service.status;
  const chosen = await vscode.window.showQuickPick(entries(explanation?.reasons ?? []), {
    title: `draftline is ${status.state}: ${status.message}`,
    placeHolder: explanation?.reasons.length ? "Why nothing appeared, the newest first" : "Nothing to explain",
    matchOnDetail: true,
  });
  if (chosen !== undefined) {
    await vscode.window.showTextDocument(vscode.Uri.parse(chosen.uri));
  }
}

async function pull(service: Service): Promise<void> {
  const program = lookFor();
  if (typeof program !== "string") {
    service.fail(program.message, program.help);
    return;
  }
  const models = output(program, ["models", "list"]).then(parseModels);
  const rows = models.then((known) =>
    known.map(({ name, download, licence, isPulled }) => ({
      label: name,
      description: `${download}, ${licence}${isPulled ? ", already here" : ""}`,
    })),
  );
  const title = "Pull a model (config.toml says which one is used)";
  const chosen = await vscode.window.showQuickPick(rows, { title });
  if (chosen !== undefined) {
    await runInTerminal(program, ["models", "pull", chosen.label]);
  }
}

async function runIfThere(service: Service, args: readonly string[]): Promise<void> {
  const program = lookFor();
  if (typeof program === "string") {
    await runInTerminal(program, args);
  } else {
    service.fail(program.message, program.help);
  }
}

async function showMenu(service: Service): Promise<void> {
  const { state, message } = service.status;
  const rows = [
    ...remedies(service),
    row("debug-pause", service.isPaused() ? "Resume" : "Pause in This Window", () => pause(service)),
    row("question", "Explain Why Nothing Appeared", () => explain(service)),
    row("graph", "Show Stats", () => runIfThere(service, ["stats"])),
    row("cloud-download", "Pull a Model", () => pull(service)),
    row("debug-restart", "Restart the Language Server", () => restart(service)),
    row("gear", "Settings", openSettings),
    row("output", "Show Log", () => service.showLog()),
  ];
  const chosen = await vscode.window.showQuickPick(rows, { title: `draftline is ${state}: ${message}` });
  await chosen?.run();
}

function remedies(service: Service): Action[] {
  const { state, message, remedy: what } = service.status;
  const action = state === "error" ? (remedy(service, message) ?? remedy(service, what ?? "")) : undefined;
  return action ? [row("play", action.label, action.run)] : [];
}

function row(icon: string, label: string, run: () => unknown): Action {
  return { label: `$(${icon}) ${label}`, run };
}

/** With one button, where there is something to do. */
async function showMessage(service: Service, { type, message, help }: Message): Promise<void> {
  const show = type === MessageType.Error ? vscode.window.showErrorMessage : vscode.window.showWarningMessage;
  const button = help === undefined ? remedy(service, message) : helping(service, help);
  const chosen = await (button === undefined ? show(message) : show(message, button.label));
  if (chosen !== undefined) {
    await button?.run();
  }
}

function remedy(service: Service, message: string): Action | undefined {
  const args = commandIn(message);
  return args && { label: `Run draftline ${args.join(" ")}`, run: () => runIfThere(service, args) };
}

function helping(service: Service, help: Help): Action {
  switch (help) {
    case "install":
      return { label: "How to Install", run: () => vscode.commands.executeCommand("extension.open", EXTENSION) };
    case "settings":
      return { label: "Open Settings", run: openSettings };
    case "log":
      return { label: "Show Log", run: () => service.showLog() };
  }
}

/** With a remote machine, those of the machine: only there is `draftline.path`. */
function openSettings() {
  const query = `@ext:${EXTENSION}`;
  return vscode.env.remoteName === undefined
    ? vscode.commands.executeCommand("workbench.action.openSettings", query)
    : vscode.commands.executeCommand("workbench.action.openRemoteSettings", { query });
}
