/** What the extension does between VS Code and the language client: settings, figures, one progress instead of two. */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { acceptedId } from "./accepted";
import { settingsForServer } from "./settings";
import type { Tally } from "./tally";

export interface Listener {
  readonly tally: Tally;
  isPaused(): boolean;
  /** VS Code asks for completions; whether that counts as typing even if VS Code says that it was by hand. */
  asked(): boolean;
  answered(numItems: number): void;
  settingsChanged(): Promise<void>;
}

export function middleware(listener: Listener): Middleware {
  return {
    async provideInlineCompletionItems(document, position, context, token, next) {
      const start = performance.now();
      const isTyping = listener.asked();
      const triggerKind = isTyping ? vscode.InlineCompletionTriggerKind.Automatic : context.triggerKind;
      const answer = await next(document, position, { ...context, triggerKind }, token);
      if (!token.isCancellationRequested) {
        const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
        const ids = items.map((item) => acceptedId(item.command)).filter((id) => id !== undefined);
        listener.tally.answered(ids, performance.now() - start);
        listener.answered(items.length);
      }
      return answer;
    },
    executeCommand(command, args, next) {
      const id = acceptedId({ command, arguments: args });
      if (id !== undefined) {
        listener.tally.accepted(id);
      }
      return next(command, args);
    },
    // The status bar shows the percentage; `end` lets the client forget the progress.
    handleWorkDoneProgress(token, params, next) {
      if (params.kind === "end") {
        next(token, params);
      }
    },
    workspace: {
      async configuration(params, token, next) {
        const sections = await next(params, token);
        if (!Array.isArray(sections)) {
          return sections;
        }
        const isOurs = (index: number) => params.items[index]?.section === "draftline";
        return sections.map((value, index) =>
          isOurs(index) ? settingsForServer(value, listener.isPaused()) : value,
        );
      },
      // The server then asks, and gets what `configuration` lets through.
      didChangeConfiguration: () => listener.settingsChanged(),
    },
  };
}
