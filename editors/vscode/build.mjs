// `node build.mjs`: the extension in one file, and the licences of what is bundled. `node build.mjs tests`: the tests.
import { build } from "esbuild";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const shared = { bundle: true, platform: "node", format: "cjs", target: "node20", logLevel: "warning" };

async function buildExtension() {
  const { metafile } = await build({
    ...shared,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    external: ["vscode"],
    minify: true,
    metafile: true,
  });
  writeFileSync("dist/NOTICES.txt", notices(Object.keys(metafile.inputs)));
}

async function buildTests() {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...shared, entryPoints: tests.map((name) => `test/${name}`), outdir: "dist/tests" });
}

/** The licence texts of the packages that these files come from. */
function notices(files) {
  const folders = new Set(files.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0] ?? []));
  return [...folders].sort().map(notice).join("\n\n");
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) {
    throw new Error(`${name} has no licence file: it cannot be bundled`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
}

rmSync("dist", { recursive: true, force: true });
await (process.argv[2] === "tests" ? buildTests() : buildExtension());
