/** The language server of this window: started, asked, paused, restarted. */

import { homedir } from "node:os";
import { setTimeout } from "node:timers/promises";
import * as vscode from "vscode";
import {
  DidChangeConfigurationNotification,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  MessageType,
  RevealOutputChannelOn,
  ShowMessageNotification,
  State,
} from "vscode-languageclient/node";
import type { Explanation } from "./explanation";
import { type Listener, middleware } from "./middleware";
import type { Status } from "./status";
import { Tally } from "./tally";

/** A program that has not answered by then is no language server. */
const START_SECONDS = 30;

const SCHEMES = ["file", "untitled", "vscode-remote", "vscode-vfs", "vscode-notebook-cell"];

export type Help = "install" | "settings" | "log";

export interface Message {
  readonly type: MessageType;
  readonly message: string;
  /** What helps, where that is not a command that the message names. */
  readonly help?: Help;
}

export class Service implements Listener, vscode.Disposable {
  readonly #changes = new vscode.EventEmitter<void>();
  readonly #messages = new vscode.EventEmitter<Message>();
  readonly #log = vscode.window.createOutputChannel("draftline", { log: true });
  #client: LanguageClient | undefined;
  #turn = Promise.resolve();
  #status: Status = stopped("not started");
  #tally = new Tally();
  #isPaused = false;
  #isMissed = false; // VS Code asked while nothing could be answered
  #asksAgain = false;

  /** The status or a figure has changed. */
  readonly onChange = this.#changes.event;
  /** The server has something to say to the person. */
  readonly onMessage = this.#messages.event;

  get status(): Status {
    return this.#status.state === "paused" && this.#isPaused
      ? { ...this.#status, message: "paused in this window" }
      : this.#status;
  }

  get tally(): Tally {
    return this.#tally;
  }

  /** Starts `program serve`; ends what ran before. What goes wrong is told by `onMessage` and the status. */
  start(program: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stop();
      await this.#start(program);
    });
  }

  stop(): Promise<void> {
    return this.#inTurn(() => this.#stop());
  }

  /** There are no completions, for a reason that no server can tell. */
  fail(message: string, help: Help): void {
    this.#follow(stopped(message));
    this.#messages.fire({ type: MessageType.Error, message, help });
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  async pause(isPaused: boolean): Promise<void> {
    this.#isPaused = isPaused;
    await this.settingsChanged();
  }

  /** Why the latest requests of this window showed nothing; undefined while no server runs. */
  async explain(): Promise<Explanation | undefined> {
    return this.#running?.sendRequest(ExecuteCommandRequest.type, { command: "draftline.explain" });
  }

  async settingsChanged(): Promise<void> {
    await this.#running?.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
  }

  asked(): boolean {
    const asksAgain = this.#asksAgain;
    this.#asksAgain = false;
    return asksAgain;
  }

  answered(numItems: number): void {
    this.#isMissed = numItems === 0 && this.#status.state !== "ready";
    this.#changes.fire();
  }

  showLog(): void {
    this.#log.show();
  }

  dispose(): void {
    this.#changes.dispose();
    this.#messages.dispose();
    this.#log.dispose();
  }

  /** A client that is starting can't be stopped: one thing after the other. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step);
    return this.#turn;
  }

  async #start(program: string): Promise<void> {
    this.#tally = new Tally();
    const run = { command: program, args: ["serve"], options: { cwd: homedir() } };
    const client = new LanguageClient("draftline", "draftline", run, this.#options());
    this.#client = client;
    client.onNotification("draftline/status", (status: Status) => this.#follow(status));
    client.onNotification(ShowMessageNotification.type, (params) => this.#messages.fire(params));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped && this.#client === client) {
        this.#follow(stopped("the language server has ended"));
      }
    });
    this.#follow({ state: "loading", message: "starting the language server", model: "" });
    try {
      await Promise.race([client.start(), tooLate(START_SECONDS)]);
    } catch (error) {
      this.fail(`${program} does not start: ${error}`, "log");
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.dispose().catch((error) => this.#log.warn(`the language server did not end in good order: ${error}`));
  }

  get #running(): LanguageClient | undefined {
    return this.#client?.isRunning() ? this.#client : undefined;
  }

  #options(): LanguageClientOptions {
    return {
      documentSelector: SCHEMES.map((scheme) => ({ scheme })),
      outputChannel: this.#log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      middleware: middleware(this),
    };
  }

  #follow(status: Status): void {
    this.#status = status;
    this.#changes.fire();
    if (status.state === "ready" && this.#isMissed) {
      this.#isMissed = false;
      this.#asksAgain = true;
      void vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
    }
  }
}

async function tooLate(seconds: number): Promise<never> {
  await setTimeout(seconds * 1000, undefined, { ref: false });
  throw new Error(`no answer within ${seconds} s`);
}

function stopped(message: string): Status {
  return { state: "error", message, model: "", remedy: "run the command draftline: Restart the Language Server" };
}
