/** The extension: begins when VS Code has started. */

import * as vscode from "vscode";
import { showStatus } from "./bar";
import { registerCommands, restart } from "./commands";
import { Service } from "./service";

let service: Service | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const started = new Service();
  service = started;
  const onSettings = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration("draftline.path")) {
      void restart(started);
    }
  });
  context.subscriptions.push(started, showStatus(started), registerCommands(started), onSettings);
  void restart(started);
}

export async function deactivate(): Promise<void> {
  await service?.stop();
}
