/** What the server says about completions (`draftline/status`), and how the status bar shows it. */

import type { Figures } from "./tally";

export interface Status {
  readonly state: "loading" | "ready" | "paused" | "error";
  readonly message: string;
  readonly model: string;
  /** Of an error: what to do. */
  readonly remedy?: string;
}

export interface StatusText {
  /** One short line with a codicon. */
  readonly label: string;
  /** Plain lines; the first is the state. */
  readonly tooltip: readonly string[];
  readonly isError: boolean;
}

const ICONS: Record<Status["state"], string> = {
  loading: "$(loading~spin)",
  ready: "$(pencil)",
  paused: "$(debug-pause)",
  error: "$(error)",
};

export function statusText(status: Status, figures: Figures): StatusText {
  const share = status.state === "loading" ? percentage(status.message) : undefined;
  const label = `${ICONS[status.state]} draftline${share === undefined ? "" : ` ${share} %`}`;
  return { label, tooltip: [...sentences(status), ...told(figures)], isError: status.state === "error" };
}

/** The percentage that a message names, as in "preparing tiny in int8: 40 %". */
export function percentage(message: string): number | undefined {
  const found = /\b(\d{1,2}|100) %/.exec(message);
  return found === null ? undefined : Number(found[1]);
}

function sentences(status: Status): string[] {
  const lines = [`${status.state}: ${status.message}`];
  if (status.model !== "" && !status.message.includes(status.model)) {
    lines.push(`model: ${status.model}`);
  }
  if (status.remedy !== undefined && !status.message.includes(status.remedy)) {
    lines.push(`what to do: ${status.remedy}`);
  }
  return lines;
}

function told({ lastMs, offered, accepted }: Figures): string[] {
  if (lastMs === undefined) {
    return [];
  }
  return [`last answer: ${Math.round(lastMs)} ms`, `accepted: ${accepted} of ${offered} completions in this window`];
}
