// A person before the page: with the mouse, or with the keyboard alone.

const REACH = 400;

export class Person {
  constructor(page, { address, token, hand }) {
    this.page = page;
    this.address = address;
    this.token = token;
    this.hand = hand;
  }

  /** Opens a view in a tab that has a token already. */
  async open(hash, token = this.token) {
    await this.page.addInitScript((kept) => {
      if (kept && !sessionStorage.getItem("begun")) {
        sessionStorage.setItem("begun", "1");
        sessionStorage.setItem("alma-session", JSON.stringify({ token: kept }));
      }
    }, token);
    await this.page.goto(`${this.address}/ui/#/${hash}`);
  }

  button(name, within = this.page) {
    return within.getByRole("button", { name, exact: typeof name === "string" }).first();
  }

  link(name, within = this.page) {
    return within.getByRole("link", { name, exact: typeof name === "string" }).first();
  }

  box(name, within = this.page) {
    return within.getByLabel(name, { exact: true }).first();
  }

  /** Presses a button, or follows a link. */
  async press(target) {
    if (this.hand === "mouse") return target.click();
    await this.reach(target);
    await this.page.keyboard.press("Enter");
  }

  /** Writes a text in the place of what a box has, and sends it. */
  async write(target, text, { isSent = true } = {}) {
    if (this.hand === "mouse") await target.click();
    else await this.reach(target);
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(text);
    if (isSent) await this.page.keyboard.press("Enter");
  }

  /** Chooses an option by its name. */
  async choose(target, name) {
    if (this.hand === "mouse") return target.selectOption({ label: name });
    await target.locator("option", { hasText: name }).first().waitFor({ state: "attached" });
    await this.reach(target);
    await this.page.keyboard.type(name);
  }

  /** Turns a check box on or off. */
  async turn(target) {
    if (this.hand === "mouse") return target.click();
    await this.reach(target);
    await this.page.keyboard.press("Space");
  }

  /** Moves the focus with the tabulator until a control has it. */
  async reach(target) {
    await target.waitFor();
    const control = await target.elementHandle();
    for (let step = 0; step < REACH; step++) {
      if (await control.evaluate((element) => element === document.activeElement)) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`the keyboard does not reach ${target}`);
  }

  /** Waits until the page shows a text. */
  async sees(text, within = this.page) {
    await within.getByText(text).first().waitFor();
  }

  /** Returns the texts of all elements that are found. */
  async texts(selector) {
    await this.page.locator(selector).first().waitFor();
    return this.page.locator(selector).allInnerTexts();
  }
}

/** Asks the server, past the page. */
export function asking(page, { address, token }) {
  return async (method, path, data) => {
    const response = await page.request.fetch(`${address}/v1/${path}`, { method, data, headers: { Authorization: `Bearer ${token}` } });
    if (!response.ok()) throw Object.assign(new Error(`${method} ${path}: ${await response.text()}`), { status: response.status() });
    return response.status() === 204 ? undefined : response.json();
  };
}

/** Waits until a question about the server is answered with yes. */
export async function until(question, what = String(question)) {
  for (let tries = 0; tries < 100; tries++) {
    if (await question()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`never: ${what}`);
}

export function same(found, expected, what = "") {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}\nfound    ${a}\nexpected ${b}`);
}

/** Does one flow. */
export async function flow({ page, context }, given) {
  const { flows } = await import("./flows.mjs");
  context.setDefaultTimeout(10_000);
  const person = new Person(page, given);
  const ask = asking(page, given);
  try {
    await flows[given.flow]({ person, page, context, ask, code: given.code });
  } catch (error) {
    const text = await page.evaluate(() => document.body.innerText).catch(() => "");
    throw new Error(`${error.message}\nat ${page.url()}\n${text.slice(0, 1500)}`, { cause: error });
  }
}
