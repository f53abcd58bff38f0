import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

/** Answer to a question: none yet, an answer, or an error. */
export interface Asked<Answer> {
  answer: Answer | undefined;
  error: Error | undefined;
  retry: () => void;
}

/** Changes when the memory was changed by this page: every view reads again what it shows. */
export const changes = signal(0);

/**
 * Asks once for each `key`, and again after a change; the last answer stays until the next is there.
 *
 * An answer to a key that is not the newest is dropped. `null` asks nothing.
 */
export function useAsked<Answer>(key: string | null, ask: (signal: AbortSignal) => Promise<Answer>): Asked<Answer> {
  const [state, setState] = useState<{ key: string | null; answer?: Answer; error?: Error }>({ key });
  const [tries, setTries] = useState(0);
  const version = changes.value;
  useEffect(() => {
    if (key === null) return;
    const end = new AbortController();
    ask(end.signal).then(
      (answer) => !end.signal.aborted && setState({ key, answer }),
      (error) => !end.signal.aborted && setState({ key, error: error instanceof Error ? error : new Error(String(error)) }),
    );
    return () => end.abort();
  }, [key, tries, version]);
  const isOfKey = state.key === key;
  return {
    answer: isOfKey ? state.answer : undefined,
    error: isOfKey ? state.error : undefined,
    retry: () => {
      setState({ key });
      setTries(tries + 1);
    },
  };
}
