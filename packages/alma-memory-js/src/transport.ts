import { segment } from "./arguments.js";
import {
  ALMAError,
  AuthError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  NotImplementedError,
  type Problem,
  RateLimitError,
  ScopeViolationError,
  ServerError,
  TimeoutError,
  ValidationError,
} from "./errors.js";
import type { ALMAConfig, CallOptions, Query } from "./types.js";

/** Request to the server. `path` begins after `/v1/projects/PROJECT`; one that begins with a slash, after the server's address. */
export interface Ask extends CallOptions {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Query | undefined;
  body?: object | undefined;
  headers?: Record<string, string> | undefined;
  /** How often it is tried again at most. By default reads 3 times, writes as often as there is time. */
  retries?: number | undefined;
  /** Whether it stores something. By default all but GET do. */
  isWrite?: boolean | undefined;
}

type Environment = { process?: { env?: { ALMA_TOKEN?: string } } };

const READ_MS = 30_000;
/** A server that was killed in the middle of a write holds the write's key for 30 s. */
const WRITE_MS = 60_000;
/** A timer knows no longer time. */
const LONGEST_MS = 2 ** 31 - 1;
const RETRIED = new Set([408, 429, 502, 503, 504]);
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Way to the server: addresses, tokens, tries. */
export class Transport {
  readonly base: string;
  private readonly token: ALMAConfig["token"];
  private isAway = false;

  constructor(readonly config: ALMAConfig) {
    this.base = (config.baseUrl ?? "http://127.0.0.1:8765").replace(/\/+$/, "");
    const { protocol, hostname, username, password } = new URL(this.base);
    if (username || password) throw new ValidationError("baseUrl has a name or a password; give a token", "baseUrl");
    if (protocol !== "http:" && protocol !== "https:") throw new ValidationError("baseUrl is no http address", "baseUrl", this.base);
    const isInHeaders = new Headers(config.headers).has("authorization");
    this.token = isInHeaders ? undefined : (config.token ?? (globalThis as Environment).process?.env?.ALMA_TOKEN);
    if (protocol === "http:" && !LOOPBACK.test(hostname) && (isInHeaders || this.token !== undefined)) {
      throw new ValidationError("a token is sent over https only, or to this machine", "baseUrl", this.base);
    }
  }

  /** Returns the answer to a request as JSON, `undefined` if it has no content. */
  async json<T>(ask: Ask): Promise<T> {
    return this.ask(ask, async (response) => (response.status === 204 ? undefined : response.json()) as Promise<T>);
  }

  /**
   * Returns what `read` makes of a response of success.
   *
   * Tries again when no answer came, for 408, 429, 502, 503 and 504, and while an earlier try of the same key still runs: after a random
   * time that grows, and not before the server asks for it. All tries have the same token and key, and share the time.
   */
  async ask<T>(ask: Ask, read: (response: Response) => Promise<T>): Promise<T> {
    const { retry = {}, fetch = globalThis.fetch } = this.config;
    const isWrite = ask.isWrite ?? ask.method !== "GET";
    const timeout = ask.timeout ?? this.config.timeout ?? (isWrite ? WRITE_MS : READ_MS);
    const retries = ask.retries ?? retry.maxRetries ?? (isWrite ? Infinity : 3);
    const url = this.url(ask);
    const request = this.request(ask, isWrite && (ask.method === "POST" || ask.method === "PUT"));
    const end = Date.now() + timeout;
    const clock = new AbortController();
    const timer = setTimeout(() => clock.abort(), Math.min(timeout, LONGEST_MS));
    const signal = ask.signal ? AbortSignal.any([ask.signal, clock.signal]) : clock.signal;
    let secret: string | undefined; // the same for all tries: to the server, a key of another token is another write
    try {
      for (let tries = 0; ; tries++) {
        let error: ALMAError;
        let wait: number | undefined;
        try {
          secret ??= await this.secret(signal);
          const headers = secret ? { Authorization: `Bearer ${secret}`, ...request.headers } : request.headers;
          const response = await fetch(url, { ...request, headers, signal });
          if (response.ok) {
            const answer = await read(response);
            this.isAway = false;
            return answer;
          }
          wait = seconds(response.headers.get("retry-after"));
          error = await problemOf(ask, response, timeout, wait);
          // What an earlier try removed, whose answer was lost, is not found again. A query names no single thing.
          if (tries && ask.method === "DELETE" && !ask.query && error instanceof NotFoundError) return undefined as T;
          if (!isTransient(error) && error.problem?.type !== "/problems/still-running") throw error;
        } catch (cause) {
          if (cause instanceof ALMAError) throw cause;
          if (ask.signal?.aborted) throw ask.signal.reason;
          if (clock.signal.aborted) throw new TimeoutError(`no answer in ${timeout} ms`, timeout, { cause });
          if (cause instanceof SyntaxError) throw new ServerError("no JSON came", cause.message, undefined, { cause });
          error = new ConnectionError(`no connection to ${this.base}: ${reason(cause)}`, this.base, { cause });
        }
        const { baseDelay = 1000, maxDelay = 10_000 } = retry;
        const pause = Math.max(Math.random() * Math.min(maxDelay, baseDelay * 2 ** tries), (wait ?? 0) * 1000);
        if (tries >= retries || Date.now() + pause >= end) throw error;
        if (!this.isAway) this.warn(`${error.message}; trying again`);
        this.isAway = true;
        await sleep(pause, ask.signal);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Writes a line into the log of the program. */
  warn(line: string): void {
    (this.config.logger ?? console).warn(`alma-memory: ${line}`);
  }

  /** Returns the token, empty if there is none. A function is waited for until the signal aborts. */
  private async secret(signal: AbortSignal): Promise<string> {
    const { token } = this;
    if (typeof token !== "function") return token ?? "";
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      const fail = (cause: unknown) => reject(new AuthError(`no token: ${reason(cause)}`, { cause }));
      Promise.resolve().then(token).then((found) => resolve(found ?? ""), fail);
    });
  }

  private request({ method, body, headers, idempotencyKey }: Ask, hasKey: boolean): RequestInit & { headers: Record<string, string> } {
    return {
      method,
      headers: {
        Accept: "application/json",
        ...(body && { "Content-Type": "application/json" }),
        ...(hasKey && { "Idempotency-Key": idempotencyKey ?? crypto.randomUUID() }),
        ...this.config.headers,
        ...headers,
      },
      body: body ? JSON.stringify(body) : null,
      redirect: "manual",
    };
  }

  private url({ path, query = {} }: Ask): string {
    const { projectId } = this.config;
    const project = projectId === undefined ? "" : `/projects/${segment(projectId, "projectId")}`;
    const pairs = Object.entries(query).flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, String(each)]));
    const asked = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
    return `${this.base}${path.startsWith("/") ? path : `/v1${project}/${path}`}${asked}`;
  }
}

/** Returns whether a call that failed may succeed later: no answer came, or the server could not give one now. */
export function isTransient({ statusCode }: ALMAError): boolean {
  return statusCode === undefined || RETRIED.has(statusCode);
}

/** Resolves after a time in milliseconds; rejects at once when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

function seconds(header: string | null): number | undefined {
  if (!header) return undefined;
  const count = Number(header);
  const wait = Number.isNaN(count) ? (Date.parse(header) - Date.now()) / 1000 : count;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

function reason(cause: unknown): string {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}

async function problemOf(ask: Ask, response: Response, timeout: number, retryAfter: number | undefined): Promise<ALMAError> {
  const { status } = response;
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    return new ConnectionError(`${response.url} redirects, which is not followed`, response.url, { statusCode: status });
  }
  const text = await response.text();
  let problem: Problem | undefined;
  try {
    problem = JSON.parse(text);
  } catch {
    // A proxy answers with a page of its own.
  }
  const detail = problem?.detail ?? (text.slice(0, 200) || `status ${status}`);
  const details = { statusCode: status, problem };
  const body: Record<string, unknown> = { ...ask.body };
  if (status === 401) return new AuthError(detail, details);
  if (status === 403) return new ScopeViolationError(detail, body.agent as string, body.domain as string, details);
  if (status === 404 || status === 410) {
    const [, type, id] = /(\w+?)s\/([^/]+)/.exec(ask.path) ?? [];
    return new NotFoundError(detail, type?.replace(/ie$/, "y"), id && decodeURIComponent(id), details);
  }
  if (status === 408) return new TimeoutError(detail, timeout, details);
  if (status === 409 || status === 412) return new ConflictError(detail, details);
  if (status === 429) return new RateLimitError(detail, retryAfter, details);
  if (status === 501) return new NotImplementedError(detail, details);
  if (status >= 500) return new ServerError(detail, detail, undefined, details);
  const wrong = problem?.errors?.[0];
  const path = wrong?.pointer?.split("/").slice(1) ?? [/^\w+/.exec(detail)?.[0] ?? ""].filter((name) => name in body); // a message begins with the name
  const field = path.length ? path.join(".").replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) : undefined;
  return new ValidationError(wrong?.pointer ? `${field}: ${wrong.detail}` : detail, field, body[path[0] ?? ""], details);
}
