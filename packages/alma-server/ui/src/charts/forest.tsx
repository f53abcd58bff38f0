import type { JSX } from "preact";
import { percent, range } from "../words.js";

/** Rate of success on a line from 0 to 1, with its interval at 95 %; the same in words for who does not see it. */
export function Forest({ rate, interval }: { rate: number; interval: { lower: number; upper: number } }): JSX.Element {
  const x = (value: number) => `${(2 + 96 * Math.min(1, Math.max(0, value))).toFixed(2)}%`;
  return (
    <svg class="forest" role="img" aria-label={`Rate ${percent(rate)}, interval ${range(interval)}`}>
      <line class="forest-axis" x1={x(0)} x2={x(1)} y1="50%" y2="50%" />
      {[0, 0.5, 1].map((tick) => (
        <line class={tick === 0.5 ? "forest-half" : "forest-end"} x1={x(tick)} x2={x(tick)} y1="15%" y2="85%" />
      ))}
      <line class="forest-interval" x1={x(interval.lower)} x2={x(interval.upper)} y1="50%" y2="50%" />
      {[interval.lower, interval.upper].map((edge) => (
        <line class="forest-interval" x1={x(edge)} x2={x(edge)} y1="32%" y2="68%" />
      ))}
      <circle class="forest-rate" cx={x(rate)} cy="50%" r="4.5" />
    </svg>
  );
}

/** Heading of a column of forest plots. */
export function ForestScale(): JSX.Element {
  return (
    <span class="forest-scale" aria-hidden="true">
      <span>0</span>
      <span>½</span>
      <span>1</span>
    </span>
  );
}
