import { signal } from "@preact/signals";

/** Token of this tab. `name` is known when the page got it by a code. */
export interface Session {
  token: string;
  name?: string | undefined;
}

const KEPT = "alma-session";

export const session = signal<Session | undefined>(kept());
/** Why the page asks for a token, where it had one. */
export const refusal = signal("");

export function begin(made: Session): void {
  sessionStorage.setItem(KEPT, JSON.stringify(made));
  refusal.value = "";
  session.value = made;
}

export function end(reason = ""): void {
  sessionStorage.removeItem(KEPT);
  refusal.value = reason;
  session.value = undefined;
}

/**
 * Exchanges the code in the address for a token, and cleans the address before anything else.
 *
 * The code is in the fragment, which no server and no log sees.
 */
export async function exchangeCode(): Promise<void> {
  const given = new URLSearchParams(location.hash.slice(1));
  const code = given.get("code");
  if (!code) return;
  const agent = given.get("agent");
  history.replaceState(null, "", `#/search${agent ? `?${new URLSearchParams({ agent })}` : ""}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
  try {
    const response = await fetch(new URL("session", document.baseURI), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ code }),
      credentials: "omit",
      redirect: "error",
    });
    const answer = await response.json();
    if (response.ok) begin({ token: answer.token, name: answer.name });
    else end(answer.detail ?? answer.title ?? "The code was refused.");
  } catch {
    end("The server did not answer. Open the link again.");
  }
}

function kept(): Session | undefined {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    return typeof found?.token === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}
