import type { JSX } from "preact";
import { decimals, percent, spaced } from "../words.js";

/** Factors of a score from 0 to 1, each as a bar with its name, and what their sum is multiplied by. */
export function Bars({ of, weights, times }: { of: Record<string, number>; weights: Record<string, number>; times: number }): JSX.Element {
  return (
    <dl class="bars">
      {Object.entries(of).map(([name, value]) => (
        <div title={`weighs ${percent(weights[name] ?? 0)}`}>
          <dt>{spaced(name)}</dt>
          <dd>
            <svg aria-hidden="true">
              <rect class="bar-ground" width="100%" height="100%" />
              <rect class="bar" width={`${Math.min(1, Math.max(0, value)) * 100}%`} height="100%" />
            </svg>
            {decimals(value)}
          </dd>
        </div>
      ))}
      <div>
        <dt>Usefulness</dt>
        <dd>× {decimals(times)}</dd>
      </div>
    </dl>
  );
}
