/** The command that a message tells the person to run, so that a button can run it. */

const RUNNABLE = /`draftline ((?:models pull|doctor|stop|stats)(?: [^`]*)?)`/;
const PLAIN = /^[\w.:/-]+$/;
const PLACEHOLDER = /^[A-Z]+$/;

/** The arguments of the first such command; undefined where there is none, or it has something left to fill in. */
export function commandIn(message: string): readonly string[] | undefined {
  const words = RUNNABLE.exec(message)?.[1]?.split(" ");
  return words?.every((word) => PLAIN.test(word) && !PLACEHOLDER.test(word)) ? words : undefined;
}
