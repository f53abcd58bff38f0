import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { changes, useAsked } from "./asked.js";
import { Fault, Skeleton } from "./parts.js";
import { href } from "./router.js";
import { Inline } from "./text.js";
import { count, headline, kindName, many } from "./words.js";

/** Act that is shown before it is done. */
export interface Proposal {
  title: string;
  /** Label of the button that does it. */
  verb: string;
  /** Text to be typed before it can be done. */
  typed?: string;
  /** Returns what would change, and does not change it. */
  preview: () => Promise<{ says: ComponentChildren; isEmpty?: boolean; key?: string | null }>;
  /** Does it. `key` is that of the preview. Returns what the toast says. */
  carry: (key: string | null | undefined) => Promise<Done>;
}

/** Act that was done. `undo` reverses it; there is none for what cannot be reversed. */
export interface Done {
  says: string;
  undo?: (() => Promise<unknown>) | undefined;
}

export const proposal = signal<Proposal | undefined>(undefined);
export const toast = signal<(Done & { isBad?: boolean }) | undefined>(undefined);

export function propose(made: Proposal): void {
  proposal.value = made;
}

/** Does an act at once, and says so. The views read again what they show. */
export async function act(carry: () => Promise<Done>): Promise<void> {
  try {
    toast.value = await carry();
    changes.value++;
  } catch (error) {
    toast.value = { says: error instanceof Error ? error.message : String(error), isBad: true };
  }
}

/**
 * Does an act between two looks at the journal, and returns how to undo it.
 *
 * Undo goes by the journal. When another wrote at the same moment, the page cannot tell whose record is whose, and offers none.
 */
export async function undoable(carry: () => Promise<unknown>, says: string): Promise<Done> {
  const before = await api.head();
  await carry();
  const after = await api.head();
  return { says, undo: after === before + 1 ? () => api.undo(before, { isDry: false, head: after }) : undefined };
}

export async function undoLast(): Promise<void> {
  const undo = toast.value?.undo;
  if (!undo) return;
  await act(async () => {
    await undo();
    return { says: "Undone" };
  });
}

/** Archives a memory, or erases it for good. */
export function forgetMemory(memory: api.Memory, { purge = false } = {}): void {
  const noun = kindName(memory.kind).toLowerCase();
  propose({
    title: purge ? `Erase this ${noun} for good?` : `Archive this ${noun}?`,
    verb: purge ? "Erase for good" : "Archive",
    ...(purge && { typed: memory.id }),
    preview: async () => {
      const report = await api.forget([memory.id], { purge, isDry: true });
      const counts = Object.entries(report.by_kind).map(([kind, n]) => `${n} ${kindName(kind, n).toLowerCase()}`);
      return {
        key: report.confirmation,
        isEmpty: report.total === 0,
        says: report.total === 0 ? (
          <p>Nothing would change: it is not there any more.</p>
        ) : (
          <>
            <p>
              Would {purge ? "erase" : "archive"} {counts.join(", ")}:
            </p>
            <Ids ids={report.memory_ids} />
            <p class="soft">
              {purge
                ? "Its words leave the store, the journal and the indexes. This cannot be undone."
                : "No agent is shown it any more. Undo brings it back."}
            </p>
          </>
        ),
      };
    },
    carry: async (key) => {
      const report = await api.forget([memory.id], { purge, isDry: false, confirmation: key ?? null });
      const [first] = report.seqs;
      const last = report.seqs.at(-1);
      return {
        says: `${purge ? "Erased" : "Archived"} ${many(report.total, "memory", "memories")}`,
        undo: purge || first === undefined ? undefined : () => api.undo(first - 1, { isDry: false, head: last! }),
      };
    },
  });
}

/** Undoes all that was done after a journal record. */
export function undoTo(seq: number): void {
  propose({
    title: `Undo all after record ${seq}?`,
    verb: "Undo",
    preview: async () => {
      const report = await api.undo(seq, { isDry: true });
      const parts: [string, string[]][] = [
        ["bring back", report.brought_back],
        ["remove", report.removed],
        ["change", report.changed],
      ];
      return {
        key: String(report.head),
        isEmpty: report.records === 0,
        says: (
          <>
            <p>Would reverse {many(report.records, "record")}.</p>
            {parts.map(([verb, ids]) =>
              ids.length ? (
                <details open={ids.length <= 5}>
                  <summary>
                    Would {verb} {many(ids.length, "memory", "memories")}
                  </summary>
                  <Ids ids={ids} />
                </details>
              ) : null,
            )}
            {report.others.length > 0 && <p class="soft">{many(report.others.length, "other record")} besides: episodes, rules, names.</p>}
            {report.purged > 0 && <p class="soft">{many(report.purged, "erased memory", "erased memories")} cannot come back.</p>}
          </>
        ),
      };
    },
    carry: async (key) => {
      const report = await api.undo(seq, { isDry: false, head: Number(key) });
      const done = report.seq;
      return {
        says: `Reversed ${many(report.records, "record")}`,
        undo: done === null ? undefined : () => api.undo(done - 1, { isDry: false, head: done }),
      };
    },
  });
}

const READ = 12;

/** Memories by their texts; after the first of them, and where they cannot be read, by their ids. */
export function Ids({ ids }: { ids: string[] }): JSX.Element {
  return (
    <ul class="ids">
      {ids.slice(0, 4 * READ).map((id, index) => (
        <Named key={id} id={id} isRead={index < READ} />
      ))}
      {ids.length > 4 * READ && <li class="soft">and {count(ids.length - 4 * READ)} more</li>}
    </ul>
  );
}

function Named({ id, isRead }: { id: string; isRead: boolean }): JSX.Element {
  const { answer } = useAsked(isRead ? `named ${id}` : null, (end) => api.memory(id, end));
  return (
    <li>
      <a href={href("memory", id)} onClick={() => (proposal.value = undefined)}>
        {answer ? (
          <span class="clamp">
            <Inline text={headline(answer)} />
          </span>
        ) : (
          <code>
            <Inline text={id} />
          </code>
        )}
      </a>
    </li>
  );
}

/** Dialog of the proposal that is shown. */
export function Confirmation(): JSX.Element | null {
  const shown = proposal.value;
  return shown ? <Dialog key={shown.title} shown={shown} /> : null;
}

function Dialog({ shown }: { shown: Proposal }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const title = useId();
  const field = useId();
  const [seen, setSeen] = useState<Awaited<ReturnType<Proposal["preview"]>>>();
  const [error, setError] = useState<Error>();
  const [typed, setTyped] = useState("");
  const [isBusy, setBusy] = useState(false);
  const look = () => {
    setError(undefined);
    shown.preview().then(setSeen, setError);
  };
  useEffect(() => {
    box.current!.showModal();
    look();
  }, []);
  const close = () => {
    proposal.value = undefined;
  };
  const carry = async () => {
    setBusy(true);
    try {
      toast.value = await shown.carry(seen?.key);
      close();
      changes.value++;
    } catch (caught) {
      setError(caught as Error);
      setSeen(undefined);
      setBusy(false);
    }
  };
  const isReady = seen && !seen.isEmpty && !isBusy && (shown.typed === undefined || typed.trim() === shown.typed);
  return (
    <dialog ref={box} aria-labelledby={title} onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void carry();
        }}
      >
        <h2 id={title}>{shown.title}</h2>
        <div class="preview" aria-live="polite">
          {error ? <Fault error={error} retry={look} /> : seen ? seen.says : <Skeleton rows={3} />}
        </div>
        {shown.typed !== undefined && seen && !seen.isEmpty && (
          <p class="field">
            <label for={field}>
              Type its id to confirm: <code><Inline text={shown.typed} /></code>
            </label>
            <input id={field} value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
          </p>
        )}
        <p class="buttons end">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isReady}>
            {shown.verb}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** Says what was done, and undoes it. It stays until it is dismissed or the next one comes. */
export function Toast(): JSX.Element {
  const shown = toast.value;
  return (
    <div class="toast-place" role="status">
      {shown && (
        <div class={shown.isBad ? "toast is-bad" : "toast"}>
          <span>
            <Inline text={shown.says} />
          </span>
          {shown.undo && (
            <button type="button" onClick={() => void undoLast()}>
              Undo <kbd>u</kbd>
            </button>
          )}
          <button type="button" class="icon" aria-label="Dismiss" onClick={() => (toast.value = undefined)}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M4 4l8 8M12 4l-8 8" />
            </svg>
          </button>
        </div>
      )}
    </div>
  );
}
