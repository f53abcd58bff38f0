import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { begin, refusal } from "../session.js";
import { Inline } from "../text.js";

/** Asks for a token, where the page has none. */
export function Door(): JSX.Element {
  const field = useId();
  const [typed, setTyped] = useState("");
  return (
    <main class="door">
      <h1>ALMA explorer</h1>
      <p>See what your agents learned, and mend it.</p>
      {refusal.value && (
        <p class="fault" role="alert">
          <Inline text={refusal.value} />
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim()) begin({ token: typed.trim() });
        }}
      >
        <p class="field">
          <label for={field}>Token of this server</label>
          <input id={field} type="password" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
        </p>
        <p class="buttons">
          <button type="submit" class="primary">
            Open
          </button>
        </p>
      </form>
      <p class="soft">
        <code>alma ui</code> opens this page with a token of its own. <code>alma token create NAME</code> makes one to paste here. It stays in this
        tab, and goes with it.
      </p>
    </main>
  );
}
