import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/**
 * Characters that a reader does not see, or that change the order of others: controls, formats, fillers, selectors, private and lone halves.
 * A joiner or a selector that makes one picture of several is none of them.
 */
const HIDDEN =
  /(?!\n|\t)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u034f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const PICTURE = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Extended_Pictographic}\d#*])\ufe0f/gu;

type Piece = string | { mark: string };

function pieces(text: string): Piece[] {
  const clean = text.replaceAll("\r\n", "\n");
  const harmless = new Set([...clean.matchAll(PICTURE)].map((found) => found.index));
  const found: Piece[] = [];
  let from = 0;
  for (const hit of clean.matchAll(HIDDEN)) {
    if (harmless.has(hit.index)) continue;
    if (hit.index > from) found.push(clean.slice(from, hit.index));
    found.push({ mark: `⟪U+${hit[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟫` });
    from = hit.index + hit[0].length;
  }
  if (from < clean.length) found.push(clean.slice(from));
  return found;
}

/** Returns a stored text for an attribute, an option or a drawing, with marks for what a reader would not see. */
export function plain(text: string): string {
  return pieces(text)
    .map((each) => (typeof each === "string" ? each : each.mark))
    .join("");
}

/** Stored text in a line of other text: a name, an id, a value. */
export function Inline({ text }: { text: string }): JSX.Element {
  return (
    <bdi dir="auto" class="stored">
      {pieces(text).map((each) => (typeof each === "string" ? each : <mark class="hidden-mark">{each.mark}</mark>))}
    </bdi>
  );
}

/** Stored text with its line breaks, folded when it is longer than `lines`. */
export function Stored({ text, lines = 12 }: { text: string; lines?: 2 | 3 | 12 }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isLong, setLong] = useState(false);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => {
      if (!element.classList.contains("is-open")) setLong(element.scrollHeight > element.clientHeight + 2);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [text, lines]);
  return (
    <div class="text">
      <div ref={box} dir="auto" class={`stored fold fold-${lines}${isOpen ? " is-open" : ""}`}>
        {pieces(text).map((each) => (typeof each === "string" ? each : <mark class="hidden-mark">{each.mark}</mark>))}
      </div>
      {(isLong || isOpen) && (
        <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show all"}
        </button>
      )}
    </div>
  );
}

/** Stored text that may be meant to mislead its reader: shown when asked for. */
export function Suspicious({ text, reason }: { text: string; reason: string }): JSX.Element {
  return (
    <details class="suspicious">
      <summary>
        In quarantine: <Inline text={reason} />. Show the text
      </summary>
      <Stored text={text} />
    </details>
  );
}
