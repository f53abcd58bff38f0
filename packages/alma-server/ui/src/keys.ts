import { useEffect } from "preact/hooks";
import { go, href } from "./router.js";

type Keys = Record<string, () => void>;

/** Views by the letter that follows `g`. */
export const PLACES: [letter: string, view: string, name: string][] = [
  ["s", "search", "Search"],
  ["m", "memories", "Memories"],
  ["w", "strategies", "Strategies"],
  ["r", "review", "Review"],
  ["t", "timeline", "Timeline"],
  ["g", "graph", "Graph"],
  ["e", "entities", "Entities"],
  ["j", "journal", "Journal"],
  ["l", "live", "Live"],
  ["v", "service", "Service"],
];

/** Keys that are understood now; those of an inner part come first. */
const layers: Keys[] = [];
let isAfterG = false;

/** Understands keys while a component is shown. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    layers.push(keys);
    return () => void layers.splice(layers.lastIndexOf(keys), 1);
  });
}

/** Moves the focus by rows: elements with `data-row`, each the link of its row. */
export function moveBy(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const current = rows.findIndex((row) => row === document.activeElement || row.closest("tr, li")?.contains(document.activeElement));
  const next = rows[current < 0 ? (step > 0 ? 0 : rows.length - 1) : current + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const { key } = event;
  if (isAfterG) {
    isAfterG = false;
    const place = PLACES.find(([letter]) => letter === key);
    if (place) {
      event.preventDefault();
      go(href(place[1]));
    }
    return;
  }
  const act = layers.toReversed().find((keys) => key in keys)?.[key];
  if (act) {
    event.preventDefault();
    act();
  } else if (key === "g") {
    isAfterG = true;
    setTimeout(() => (isAfterG = false), 1500);
  }
});
