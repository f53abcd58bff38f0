import type { JSX } from "preact";
import { decimals, spaced } from "../words.js";

/** Numbers from 0 to 1, each as a bar with its name. */
export function Bars({ of }: { of: Record<string, number> }): JSX.Element {
  return (
    <dl class="bars">
      {Object.entries(of).map(([name, value]) => (
        <div>
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
    </dl>
  );
}
