import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
const KEPT = "alma-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", () => (isSystemDark.value = system.matches));

export const theme = signal<Theme>(kept());
export const dark = computed(() => theme.value === "dark" || (theme.value === "auto" && isSystemDark.value));

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  try {
    localStorage.setItem(KEPT, theme.value);
  } catch {
    // A browser may refuse a file its storage; the choice then lasts as long as the page.
  }
});

function kept(): Theme {
  try {
    const found = localStorage.getItem(KEPT);
    return found === "light" || found === "dark" ? found : "auto";
  } catch {
    return "auto";
  }
}
