/** The answer of the server's command `draftline.explain`, as a list to read. */

import type { Status } from "./status";

export interface Explanation {
  readonly status: Status;
  /** The newest first. */
  readonly reasons: readonly Reason[];
}

export interface Reason {
  readonly uri: string;
  readonly reason: string;
  readonly sentence: string;
  readonly secondsAgo: number;
}

export interface Entry {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly uri: string;
}

export function entries(reasons: readonly Reason[]): Entry[] {
  return reasons.map(({ uri, reason, sentence, secondsAgo }) => ({
    label: fileName(uri),
    description: `${ago(secondsAgo)} · ${reason}`,
    detail: sentence,
    uri,
  }));
}

function fileName(uri: string): string {
  const name = uri.replace(/[?#].*$/, "").split("/").at(-1) || uri;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function ago(seconds: number): string {
  if (seconds < 60) {
    return `${Math.round(seconds)} s ago`;
  }
  return seconds < 3600 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}
