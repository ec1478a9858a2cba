/** An escaped lone surrogate or NUL, which is no escaped backslash before letters. */
const unfit = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/**
 * JSON in which every string is well-formed Unicode without NUL: U+FFFD stands for each code unit that is not.
 * PostgreSQL stores the others and then refuses to read them, and strict parsers refuse the whole document.
 */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.includes('\\u') ? json.replaceAll(unfit, '$1\\ufffd') : json;
}
