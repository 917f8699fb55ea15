/** The item in the status bar. */

import * as vscode from "vscode";
import type { Service } from "./service";
import { statusText } from "./status";

export const MENU = "draftline.menu";

export function showStatus(service: Service): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("draftline", vscode.StatusBarAlignment.Right, 100);
  item.name = "draftline";
  item.command = MENU;
  const show = () => {
    const { label, tooltip, isError } = statusText(service.status, service.tally.figures);
    item.text = label;
    item.tooltip = paragraphs(tooltip);
    item.accessibilityInformation = { label: `draftline, ${tooltip[0]}` };
    item.backgroundColor = isError ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    item.show();
  };
  show();
  return vscode.Disposable.from(item, service.onChange(show));
}

function paragraphs(lines: readonly string[]): vscode.MarkdownString {
  const markdown = new vscode.MarkdownString();
  lines.forEach((line) => markdown.appendText(line).appendMarkdown("\n\n"));
  return markdown;
}
