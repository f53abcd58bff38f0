import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { isALMAError } from "../../../alma-memory-js/src/index.js";
import type * as api from "./api.js";
import type { Asked } from "./asked.js";
import { href, scope } from "./router.js";
import { Inline, plain } from "./text.js";
import { headline, kindName, minute, day as dayOf } from "./words.js";

/** Time after which a reader may doubt that anything happens. */
const LONG_MS = 3000;

/** Grey rows in the place of an answer that is on its way; after a while also words. */
export function Skeleton({ rows = 6 }: { rows?: number }): JSX.Element {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status">
      <p class={isLong ? "soft" : "unseen"}>{isLong ? "Still reading. A large store takes a while." : "Loading"}</p>
      {Array.from({ length: rows }, () => (
        <span />
      ))}
    </div>
  );
}

/** Error as the server states it, with a way to try again. */
export function Fault({ error, retry }: { error: Error; retry?: () => void }): JSX.Element {
  const problem = isALMAError(error) ? error.problem : undefined;
  return (
    <div class="fault" role="alert">
      <p class="fault-title">{problem?.title ?? "The server did not answer"}</p>
      <p>
        <Inline text={problem?.detail ?? error.message} />
      </p>
      {problem?.request_id && (
        <p class="soft">
          Request <code>{problem.request_id}</code> in the server's log
        </p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** What was asked for, when it is there; else that it is loading, or why it failed. */
export function Answer<Of>({ asked, rows, children }: { asked: Asked<Of>; rows?: number; children: (answer: Of) => ComponentChildren }): JSX.Element {
  if (asked.error) return <Fault error={asked.error} retry={asked.retry} />;
  if (asked.answer === undefined) return <Skeleton rows={rows ?? 6} />;
  return <>{children(asked.answer)}</>;
}

/** Head of a view: its one `h1`, a line below it, and buttons beside it. */
export function Head({ title, children, note }: { title: ComponentChildren; note?: ComponentChildren; children?: ComponentChildren }): JSX.Element {
  return (
    <header class="view-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {note && <p class="soft">{note}</p>}
      </div>
      {children && <div class="buttons">{children}</div>}
    </header>
  );
}

const SHAPES = new Map([
  ["outcome", "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3z"],
  ["heuristic", "M3 3h10v10H3z"],
  ["anti_pattern", "M8 2.5 14 13H2z"],
  ["domain_knowledge", "M8 2l6 6-6 6-6-6z"],
  ["user_preference", "M8 13 2.5 7.5a3 3 0 0 1 5.5-2 3 3 0 0 1 5.5 2z"],
  ["conversation", "M2 3h12v8H8l-3 3v-3H2z"],
]);

/** Name of a kind with its shape. */
export function Kind({ kind }: { kind: string }): JSX.Element {
  return (
    <span class="kind">
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={SHAPES.get(kind) ?? "M8 2l5.2 3v6L8 14l-5.2-3V5z"} />
      </svg>
      {plain(kindName(kind))}
    </span>
  );
}

const MARKS: Record<string, [tone: string, path: string, name: string]> = {
  success: ["good", "M3 8.5 6.5 12 13 4.5", "Success"],
  failure: ["bad", "M4 4l8 8M12 4l-8 8", "Failure"],
  partial: ["soft", "M3 8h10", "In part"],
  unverified: ["soft", "M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z", "Not judged"],
};

/** Verdict of an outcome: a mark and a word. */
export function Verdict({ verdict }: { verdict: string | null }): JSX.Element {
  const [tone, path, name] = MARKS[verdict ?? "unverified"] ?? MARKS.unverified!;
  return (
    <span class={`verdict tone-${tone}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={path} />
      </svg>
      {name}
    </span>
  );
}

/** What a record says of a strategy, in the tone of it. */
export function Judgement({ verdict }: { verdict: string }): JSX.Element {
  const tone = /works?$/.test(verdict) ? "good" : /fails?$/.test(verdict) ? "bad" : "soft";
  return <span class={`judgement tone-${tone}`}>{verdict}</span>;
}

export function Time({ at, isDay = false }: { at: string; isDay?: boolean }): JSX.Element {
  return (
    <time dateTime={at} title={minute(at)}>
      {isDay ? dayOf(at) : minute(at)}
    </time>
  );
}

/** Link to a memory by the text that it is known by. */
export function MemoryLink({ memory, isRow = false }: { memory: api.Memory; isRow?: boolean }): JSX.Element {
  const text = headline(memory);
  return (
    <a class="memory-link" href={href("memory", memory.id)} data-row={isRow ? "" : undefined} data-id={memory.id}>
      <Inline text={text || "(no text)"} />
    </a>
  );
}

/** Box with a label; sends what was typed with Enter. */
export function Box(props: {
  label: string;
  value: string;
  onSend: (value: string) => void;
  placeholder?: string;
  isSearch?: boolean;
  verb?: string;
  isLabelHidden?: boolean;
}): JSX.Element {
  const id = useId();
  const [typed, setTyped] = useState(props.value);
  useEffect(() => setTyped(props.value), [props.value]);
  return (
    <form
      class="box"
      role={props.isSearch ? "search" : undefined}
      onSubmit={(event) => {
        event.preventDefault();
        props.onSend(typed.trim());
      }}
    >
      <label for={id} class={props.isLabelHidden ? "unseen" : undefined}>
        {props.label}
      </label>
      <span class="box-row">
        <input
          id={id}
          type="text"
          enterkeyhint="search"
          data-search={props.isSearch ? "" : undefined}
          value={typed}
          placeholder={props.placeholder}
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" class={props.isSearch ? "primary" : undefined}>
          {props.verb ?? "Search"}
        </button>
      </span>
    </form>
  );
}

/** Choice of one of few. */
export function Select(props: {
  label: string;
  value: string;
  options: [value: string, name: string][];
  onChange: (value: string) => void;
  isLabelHidden?: boolean;
}): JSX.Element {
  const id = useId();
  const isKnown = props.options.some(([value]) => value === props.value);
  return (
    <span class="select">
      <label for={id} class={props.isLabelHidden ? "unseen" : undefined}>
        {props.label}
      </label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {!isKnown && <option value={props.value}>{plain(props.value)}</option>}
        {props.options.map(([value, name]) => (
          <option value={value}>{plain(name)}</option>
        ))}
      </select>
    </span>
  );
}

/** Choice of a day, as `2026-11-30`; "" for none. */
export function DayBox({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }): JSX.Element {
  return (
    <label class="select">
      <span>{label}</span>
      <input type="date" value={value} onChange={(event) => onChange(event.currentTarget.value)} />
    </label>
  );
}

/** Returns the agent that a question is asked for: the one that was picked, else the first there is. */
export function useAgent(agents: Asked<string[]>): string | undefined {
  return scope.value.agent ?? agents.answer?.find((name) => !name.startsWith("user:"));
}

/** Bytes and other figures with their names. */
export function Figures({ of }: { of: [name: string, value: ComponentChildren][] }): JSX.Element {
  return (
    <dl class="figures">
      {of.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
