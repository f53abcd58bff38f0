import type { Schemas } from "./types.js";

/** Problem as the server states it (RFC 9457). */
export type Problem = Schemas["Problem"];

/** Particulars of an error. */
export interface ErrorDetails {
  statusCode?: number | undefined;
  cause?: unknown;
  problem?: Problem | undefined;
}

/**
 * Base of the errors of this package.
 *
 * `code` names the class, and is the same in every copy of the package. `statusCode` is that of the server's answer, if there was one.
 * `problem` is what the server stated; its log has the request under `requestId`.
 */
export class ALMAError extends Error {
  override name = "ALMAError";
  readonly isALMAError = true;
  readonly statusCode: number | undefined;
  readonly problem: Problem | undefined;

  constructor(
    message: string,
    readonly code = "ALMA_ERROR",
    details: ErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.problem = details.problem;
    this.statusCode = details.statusCode ?? details.problem?.status;
  }

  /** Id of the request in the log of the server. */
  get requestId(): string | undefined {
    return this.problem?.request_id;
  }

  /** Returns the error as plain values. */
  toJSON(): Record<string, unknown> {
    return { ...(this as object), message: this.message, requestId: this.requestId };
  }
}

/** No answer came from the server: it is not there, the connection broke, or it redirects. */
export class ConnectionError extends ALMAError {
  override name = "ConnectionError";

  constructor(
    message: string,
    readonly url: string,
    details?: ErrorDetails,
  ) {
    super(message, "CONNECTION_ERROR", details);
  }
}

/** An argument is missing or not acceptable. `field` names it, where that is known. */
export class ValidationError extends ALMAError {
  override name = "ValidationError";

  constructor(
    message: string,
    readonly field?: string | undefined,
    readonly value?: unknown,
    details?: ErrorDetails,
  ) {
    super(message, "VALIDATION_ERROR", details);
  }
}

/** The named thing does not exist, or this token may not read it. */
export class NotFoundError extends ALMAError {
  override name = "NotFoundError";

  constructor(
    message: string,
    readonly resourceType?: string | undefined,
    readonly resourceId?: string | undefined,
    details?: ErrorDetails,
  ) {
    super(message, "NOT_FOUND", details);
  }
}

/** The token, or the rules of the agent, do not allow the call. */
export class ScopeViolationError extends ALMAError {
  override name = "ScopeViolationError";

  constructor(
    message: string,
    readonly agent?: string | undefined,
    readonly domain?: string | undefined,
    details?: ErrorDetails,
  ) {
    super(message, "SCOPE_VIOLATION", details);
  }
}

/** The time for a call was over, all tries together. `timeout` is in milliseconds. */
export class TimeoutError extends ALMAError {
  override name = "TimeoutError";

  constructor(
    message: string,
    readonly timeout: number,
    details?: ErrorDetails,
  ) {
    super(message, "TIMEOUT", { statusCode: 408, ...details });
  }
}

/** The server could not carry out the call. `rpcCode` is only there for programs that read it: the server is not called by RPC. */
export class ServerError extends ALMAError {
  override name = "ServerError";

  constructor(
    message: string,
    readonly serverMessage: string,
    readonly rpcCode?: number | undefined,
    details?: ErrorDetails,
  ) {
    super(message, "SERVER_ERROR", details);
  }
}

/** The server knows no such token, or got none; or the function `token` failed, which is the `cause`. */
export class AuthError extends ALMAError {
  override name = "AuthError";

  constructor(message: string, details?: ErrorDetails) {
    super(message, "AUTH", details);
  }
}

/** The call contradicts what is stored: it has changed meanwhile, exists already, or is not there yet. */
export class ConflictError extends ALMAError {
  override name = "ConflictError";

  constructor(message: string, details?: ErrorDetails) {
    super(message, "CONFLICT", details);
  }
}

/** The token asks too often. `retryAfter` is the time in seconds until it may ask again, where the server states it. */
export class RateLimitError extends ALMAError {
  override name = "RateLimitError";

  constructor(
    message: string,
    readonly retryAfter?: number | undefined,
    details?: ErrorDetails,
  ) {
    super(message, "RATE_LIMIT", details);
  }
}

/** ALMA has no such ability. */
export class NotImplementedError extends ALMAError {
  override name = "NotImplementedError";

  constructor(message: string, details?: ErrorDetails) {
    super(message, "NOT_IMPLEMENTED", details);
  }
}

/** Returns whether a value is an error of this package, of any copy of it. */
export const isALMAError = (error: unknown): error is ALMAError => error instanceof Error && "isALMAError" in error;

const guard =
  <E extends ALMAError>(code: string) =>
  (error: unknown): error is E =>
    isALMAError(error) && error.code === code;

export const isConnectionError = guard<ConnectionError>("CONNECTION_ERROR");
export const isValidationError = guard<ValidationError>("VALIDATION_ERROR");
export const isNotFoundError = guard<NotFoundError>("NOT_FOUND");
export const isScopeViolationError = guard<ScopeViolationError>("SCOPE_VIOLATION");
export const isTimeoutError = guard<TimeoutError>("TIMEOUT");
export const isServerError = guard<ServerError>("SERVER_ERROR");
export const isAuthError = guard<AuthError>("AUTH");
export const isConflictError = guard<ConflictError>("CONFLICT");
export const isRateLimitError = guard<RateLimitError>("RATE_LIMIT");
export const isNotImplementedError = guard<NotImplementedError>("NOT_IMPLEMENTED");
