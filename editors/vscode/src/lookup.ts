/** Where the program `draftline` is. Never in the folder that is open: a stranger's folder could bring its own. */

import * as path from "node:path";

/** What of this machine the search depends on. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** The environment variable. */
  readonly path: string;
  readonly isProgram: (file: string) => boolean;
}

/** The program's absolute path, if there is one. `setting` is `draftline.path`: a path, a name, or empty. */
export function findServer(setting: string, machine: Machine): string | undefined {
  const { isAbsolute } = rules(machine);
  const wanted = setting.trim().replace(/^~(?=[\\/])/, machine.home);
  if (/[\\/]/.test(wanted)) {
    return isAbsolute(wanted) ? extended(wanted, machine).find(machine.isProgram) : undefined;
  }
  return folders(machine)
    .flatMap((folder) => extended(rules(machine).join(folder, wanted || "draftline"), machine))
    .find(machine.isProgram);
}

export interface Missing {
  /** One sentence. */
  readonly message: string;
  readonly help: "install" | "settings";
}

/** Why there is no program. */
export function missing(setting: string): Missing {
  return setting.trim() === ""
    ? { message: "draftline is not installed: it is neither on the PATH nor in ~/.local/bin.", help: "install" }
    : { message: `There is no program ${JSON.stringify(setting)}: see the setting draftline.path.`, help: "settings" };
}

/** Editors that were not started from a terminal often have a shorter PATH: where pipx, uv and brew put programs. */
function folders(machine: Machine): string[] {
  const { delimiter, isAbsolute, join } = rules(machine);
  const usual = machine.platform === "win32" ? [] : ["/usr/local/bin", "/opt/homebrew/bin"];
  return [...machine.path.split(delimiter).filter(isAbsolute), join(machine.home, ".local", "bin"), ...usual];
}

function extended(file: string, machine: Machine): string[] {
  return machine.platform === "win32" && !/\.exe$/i.test(file) ? [`${file}.exe`] : [file];
}

function rules(machine: Machine): path.PlatformPath {
  return machine.platform === "win32" ? path.win32 : path.posix;
}
