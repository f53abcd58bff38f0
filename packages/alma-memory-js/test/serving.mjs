// A real `alma serve` for the tests: over a new project, with a token for everything.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PYTHON = process.env.ALMA_PYTHON ?? "python";
const CONFIG = `alma:
  project_id: shop
  storage: sqlite
  storage_dir: .alma
  embedding_provider: hash
  agents:
    junior: {cannot_learn: [payments]}
  server:
    rate: 10000
    burst: 10000
`;
const ADD_TOKEN = "import sys; from pathlib import Path; from alma_access import Access, TokenFile; print(TokenFile(Path(sys.argv[1])).add('all', Access()))";

/** Returns a port on which nothing listens. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Returns what a Python program prints. */
export async function python(...args) {
  const child = spawn(PYTHON, args, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (part) => {
    said += part;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`python ${args.join(" ")}: ${code}`);
  return said.trim();
}

/** Server over a project in a folder. */
export class Server {
  static async start({ project = "shop", config = "", port } = {}) {
    const server = new Server();
    server.folder = await mkdtemp(join(tmpdir(), "alma-js-"));
    server.file = join(server.folder, "config.yaml");
    await writeFile(server.file, CONFIG.replace("shop", project).replace("storage_dir: .alma", `storage_dir: ${server.folder}/store`) + config);
    server.port = port ?? (await freePort());
    server.baseUrl = `http://127.0.0.1:${server.port}`;
    server.token = await python("-c", ADD_TOKEN, `${server.folder}/store`);
    await server.run();
    return server;
  }

  /** Starts the process, and waits until it is ready. */
  async run() {
    this.process = spawn(PYTHON, ["-m", "alma", "serve", "-c", this.file, "--port", String(this.port)], {
      stdio: ["ignore", "ignore", process.env.ALMA_SERVER_LOG ? "inherit" : "ignore"],
    });
    for (const { process } = this; ; await sleep(50)) {
      if (process.exitCode !== null) throw new Error(`the server ended: ${process.exitCode}`);
      const answer = await fetch(`${this.baseUrl}/health/ready`).catch(() => undefined);
      if (answer?.ok) return;
    }
  }

  /** Ends the process by a signal. */
  async end(signal = "SIGTERM") {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }

  async stop() {
    await this.end("SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
  }

  get config() {
    return { baseUrl: this.baseUrl, token: this.token };
  }
}
