// What docs/reference/contract.md promises, which tests prove it, and what has changed since a release.

/** A line of the contract. */
export interface Promised {
  /** Such as `C17.3`: the section, and the line in it. */
  readonly id: string;
  readonly section: number;
  readonly number: number;
  readonly promise: string;
}

const idPattern = /\bC\d+\.\d+\b/g;

/** The numbered lines of the page, in its order. */
export function promisesIn(page: string): Promised[] {
  return [...page.matchAll(/^- \*\*(C(\d+)\.(\d+))\*\* (.+)$/gm)].map(
    ([, id = '', section = '', number = '', promise = '']) => ({
      id,
      section: Number(section),
      number: Number(number),
      promise,
    }),
  );
}

/** The numbers that a text names. */
export function idsIn(text: string): string[] {
  return [...new Set(text.match(idPattern))];
}

/** Each test of a file, with its table where it has one: from `it` or `test` to the line that closes it. */
const testPattern = /^( *)(?:it|test)[.(](?:.*\);$|[^]*?\n\1(?:\S.*)?\);$)/gm;

/** The numbers that begin the title of a test that expects something: `'C17.3, C17.4: …'`. A comment proves nothing. */
export function titledIn(file: string): string[] {
  const tests = file.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '').match(testPattern) ?? [];
  const code = tests.filter((test) => /\b(?:expect|assert)\b[.(]/.test(test)).join('\n');
  return idsIn([...code.matchAll(/['"`]((?:C\d+\.\d+, )*C\d+\.\d+): \S/g)].map(([, ids]) => ids).join(' '));
}

/** The lines that the page says have changed since the last release: the list below its heading `Changed`. */
function declaredChanges(page: string): string[] {
  const [, list = ''] = page.split(/^## Changed$/m, 2);
  return [...list.matchAll(/^- (C\d+\.\d+): \S/gm)].map(([, id = '']) => id);
}

/** Every line of the released page that is missing or has other words now, unless the page lists it as changed. */
export function undeclaredChanges(released: string, page: string): string[] {
  const now = new Map(promisesIn(page).map(({ id, promise }) => [id, promise]));
  const declared = new Set(declaredChanges(page));
  return promisesIn(released)
    .filter(({ id, promise }) => now.get(id) !== promise && !(now.has(id) && declared.has(id)))
    .map(({ id }) => id);
}
