// Runs functions in a real Chromium for tests in Python: one JSON line in, one out. Each run has a context, so a browser, of its own.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(new URL("../../packages/alma-server/ui/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const browser = await chromium.launch({
  executablePath: process.argv[2],
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP alma.example.com 127.0.0.1",
  ],
});

/** Notes, in each document of a context, what its policy forbids. */
function watch() {
  globalThis.forbidden = [];
  addEventListener("securitypolicyviolation", (event) => {
    globalThis.note?.(`${event.effectiveDirective} ${event.blockedURI} ${event.sample} ${event.sourceFile ?? ""}`);
  });
}

async function run({ script, given, options }) {
  const seen = { violations: [], requests: [], dialogs: [], errors: [] };
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  try {
    context.setDefaultTimeout(30_000);
    await context.exposeFunction("note", (text) => void seen.violations.push(text));
    await context.addInitScript(watch);
    context.on("request", (request) => seen.requests.push(request.url()));
    context.on("dialog", (dialog) => (seen.dialogs.push(dialog.message()), dialog.dismiss()));
    context.on("weberror", (error) => seen.errors.push(String(error.error())));
    const page = await context.newPage();
    const result = await (0, eval)(`(${script})`)({ context, page, browser }, given);
    const pwned = await Promise.all(context.pages().flatMap((each) => each.frames().map((frame) => frame.evaluate("window.pwned ?? null"))));
    return { result: result ?? null, pwned: pwned.filter((each) => each !== null), ...seen };
  } finally {
    await context.close();
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await run(JSON.parse(line)).catch((error) => ({ failure: String(error?.stack ?? error) }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
