import { ValidationError } from "./errors.js";
import type { CallOptions } from "./types.js";

/** Returns the fields of arguments in snake_case, as the HTTP API names them. `ValidationError` for NaN and infinities at any depth. */
export function snake(given: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      JSON.stringify(value, (_, each: unknown) => {
        if (typeof each === "number" && !isFinite(each)) throw new ValidationError(`${name} holds ${each}`, name, each);
        return each;
      });
      return [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value];
    }),
  );
}

/** Returns what a call takes besides its arguments, and the arguments. */
export function split(given: object): [CallOptions, object] {
  const { signal, timeout, idempotencyKey, ...rest } = given as CallOptions;
  return [{ signal, timeout, idempotencyKey }, rest];
}

/** Returns a name as a segment of an address. `ValidationError` for one that would change the address: an empty one, and dots. */
export function segment(name: string, what: string): string {
  if (!name || name === "." || name === "..") throw new ValidationError(`${what} cannot be "${name}"`, what, name);
  return encodeURIComponent(name);
}
