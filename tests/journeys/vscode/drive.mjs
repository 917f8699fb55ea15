// Drives VS Code (code-server) in Chromium: `drive.mjs PLAN REPORT`.
//
// PLAN is JSON: {node_modules, chromium, extension, folder, file, settings, machine, steps}. `settings` are the
// person's, `machine` those that only a machine can have; they should save the file by themselves. A step has one key:
//   {"type": "text"}        keys, as a person types them     {"paste": "text"}        in one piece
//   {"press": "Tab"}        one key, by Playwright's name    {"click": "selector"}    the first such element
//   {"command": "title"}    from the command palette         {"run": "program ..."}   on this machine, to its end
//   {"await": "ghost"}      ghost text stands there          {"await": "no ghost"}    it does not
//   {"await": "ghost: x"}   it is x                          {"await": "text: x"}     x stands anywhere in the window
//   {"await": "status: x"}  the status bar's item says x     {"await": "ends: x"}     so ends the file
//   {"await": "file: accepted"}   the file is as in the latest snapshot with its ghost text accepted
//   {"await": "file: NAME"}       the file is as in the snapshot NAME
//   {"snapshot": "name"}    ghost text, status, file         {"screenshot": "name"}   a picture in the folder
// REPORT is JSON: {snapshots: {name: {ghost, status, text}}, ghost_ms, seconds}, or {failed: "which step and why"}.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(join(plan.node_modules, "x.js"))("playwright-core");
const entry = join(plan.node_modules, "code-server/out/node/entry.js");
const places = ["--user-data-dir", join(plan.folder, "data"), "--extensions-dir", join(plan.folder, "ext")];
const STEP_MS = 60_000;
const GHOST = '.monaco-editor [class*="ghost-text"]';
const ITEM = "[id^='draftline.draftline']";

function run(args) {
  const log = [];
  const child = spawn(process.execPath, [entry, ...places, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.on("data", (data) => log.push(data));
  child.stderr.on("data", (data) => log.push(data));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return { child, ended, log: () => Buffer.concat(log).toString() };
}

async function install() {
  const { ended, log } = run(["--install-extension", plan.extension]);
  if ((await ended) !== 0) {
    throw new Error(`the extension was not installed: ${log()}`);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function serve(port) {
  const options = ["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"];
  const server = run([
    ...["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, ...options],
    ...["--disable-getting-started-override", dirname(plan.file)],
  ]);
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer?.ok) {
      return server;
    }
    if (server.child.exitCode !== null) {
      throw new Error(`code-server has ended: ${server.log()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Its lines; spaces stand as no-break spaces in the page, and words of several colours are parts of one line. */
async function ghost(page) {
  const text = await page.locator(GHOST).evaluateAll((all) => {
    const lines = new Map();
    for (const part of all.filter((one) => !one.parentElement.closest('[class*="ghost-text"]'))) {
      const line = part.closest(".view-line") ?? part;
      lines.set(line, (lines.get(line) ?? "") + part.textContent);
    }
    return [...lines.values()].join("\n");
  });
  return text.replaceAll("\u00a0", " ");
}

async function status(page) {
  const item = page.locator(ITEM).first();
  return (await item.count()) > 0 ? ((await item.getAttribute("aria-label")) ?? (await item.textContent())) : "";
}

const text = () => readFileSync(plan.file, "utf8");

function expectedText(name, snapshots) {
  const latest = Object.values(snapshots).at(-1);
  return name === "accepted" ? latest.text + latest.ghost : snapshots[name].text;
}

const CONDITIONS = {
  ghost: async (page, wanted) => (wanted ? (await ghost(page)) === wanted : (await ghost(page)).trim() !== ""),
  "no ghost": async (page) => (await ghost(page)).trim() === "",
  status: async (page, wanted) => (await status(page)).includes(wanted),
  text: async (page, wanted) => (await page.getByText(wanted).filter({ visible: true }).count()) > 0,
  ends: (_page, wanted) => text().endsWith(wanted),
  file: (_page, name, snapshots) => text() === expectedText(name, snapshots),
};

async function until(page, condition, snapshots) {
  const [kind, wanted] = condition.split(/: (.*)/s);
  const deadline = performance.now() + STEP_MS;
  while (!(await CONDITIONS[kind](page, wanted, snapshots))) {
    if (performance.now() > deadline) {
      throw new Error(`never came; ${JSON.stringify(await snapshot(page))}`);
    }
    await page.waitForTimeout(20);
  }
}

async function snapshot(page) {
  return { ghost: await ghost(page), status: await status(page), text: text() };
}

async function command(page, title) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").first().fill(`>${title}`);
  await page.locator(".quick-input-list .monaco-list-row").getByText(title).first().waitFor({ timeout: STEP_MS });
  await page.keyboard.press("Enter");
}

async function open(page, port) {
  await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(dirname(plan.file))}`);
  await page.locator(".monaco-workbench").waitFor({ timeout: STEP_MS });
  await page.locator(ITEM).first().waitFor({ timeout: STEP_MS });
  await page.keyboard.press("Control+P");
  await page.locator(".quick-input-widget input").first().fill(basename(plan.file));
  await page.locator(".quick-input-list .monaco-list-row").first().waitFor({ timeout: STEP_MS });
  await page.keyboard.press("Enter");
  await page.locator(".monaco-editor .view-line").first().waitFor({ timeout: STEP_MS });
  await page.keyboard.press("Control+End");
}

const steps = {
  type: (page, text) => page.keyboard.type(text, { delay: 40 }),
  press: (page, key) => page.keyboard.press(key),
  paste: (page, text) => page.keyboard.insertText(text),
  await: until,
  run: (_page, line) => execFileSync(line.split(" ")[0], line.split(" ").slice(1)),
  command,
  click: (page, selector) => page.locator(selector).first().click(),
  screenshot: (page, name) => page.screenshot({ path: join(plan.folder, `${name}.png`) }),
};

async function play(page, report) {
  let typed = 0;
  for (const [number, step] of plan.steps.entries()) {
    const [[kind, value]] = Object.entries(step);
    try {
      if (kind === "snapshot") {
        report.snapshots[value] = await snapshot(page);
      } else {
        await steps[kind](page, value, report.snapshots);
      }
      if (kind === "type") {
        typed = performance.now();
      } else if (kind === "await" && value.startsWith("ghost")) {
        report.ghost_ms.push(Math.round(performance.now() - typed));
      }
    } catch (error) {
      await page.screenshot({ path: join(plan.folder, "failed.png") });
      throw new Error(`step ${number} ${JSON.stringify(step)}: ${error.message}`);
    }
  }
}

async function main(report) {
  for (const [of, settings] of [["User", plan.settings], ["Machine", plan.machine]]) {
    mkdirSync(join(plan.folder, "data", of), { recursive: true });
    writeFileSync(join(plan.folder, "data", of, "settings.json"), JSON.stringify(settings));
  }
  await install();
  const port = await freePort();
  const server = await serve(port);
  try {
    await inBrowser(port, report);
  } finally {
    server.child.kill();
    await server.ended;
  }
}

async function inBrowser(port, report) {
  const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1100, height: 700 } });
    await open(page, port);
    await play(page, report);
  } finally {
    await browser.close();
  }
}

const report = { snapshots: {}, ghost_ms: [], seconds: 0 };
await main(report).catch((error) => (report.failed = String(error)));
report.seconds = performance.now() / 1000;
writeFileSync(process.argv[3], JSON.stringify(report));
