/** The server's command that tells an accept; its name is unique to one server process. */

interface Command {
  readonly command: string;
  readonly arguments?: readonly unknown[];
}

/** The id of the completion that this command says was accepted; undefined for other commands. */
export function acceptedId(command: Command | undefined): number | undefined {
  if (!command?.command.startsWith("draftline.accepted.")) {
    return undefined;
  }
  const id = command.arguments?.[0];
  return typeof id === "number" ? id : undefined;
}
