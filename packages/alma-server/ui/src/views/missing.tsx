import type { JSX } from "preact";
import { Empty, Head } from "../parts.js";
import { href } from "../router.js";

export function Missing(): JSX.Element {
  return (
    <>
      <Head title="There is no such view" />
      <Empty title="The address names none of the views.">
        <p>
          <a href={href("search")}>Go to Search</a>
        </p>
      </Empty>
    </>
  );
}
