/** What came of this window's completions since the server began: how fast the last was, how many were accepted. */

export interface Figures {
  /** Milliseconds from VS Code's question to the latest answer with text; undefined before the first. */
  readonly lastMs: number | undefined;
  readonly offered: number;
  readonly accepted: number;
}

export class Tally {
  #lastMs: number | undefined;
  readonly #offered = new Set<number>();
  readonly #accepted = new Set<number>();

  /** An answer of `ms` milliseconds with completions of these ids; one that is typed along comes again under its id. */
  answered(ids: readonly number[], ms: number): void {
    if (ids.length > 0) {
      this.#lastMs = ms;
      ids.forEach((id) => this.#offered.add(id));
    }
  }

  accepted(id: number): void {
    this.#accepted.add(id);
  }

  get figures(): Figures {
    return { lastMs: this.#lastMs, offered: this.#offered.size, accepted: this.#accepted.size };
  }
}
