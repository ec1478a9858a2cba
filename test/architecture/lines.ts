/** What a line of code may be wide. */
const columnsMax = 120;

/**
 * The lines of a text that are wider than that, as `line: columns`. Quoted text does not count, since a search finds a
 * message, a title or a command only while it is in one piece; nor do lines of a playlist that a test compares.
 */
export function wideLines(text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    return line.length > columnsMax && !line.startsWith('#EXT') && withoutQuoted(line).length > columnsMax
      ? [`${index + 1}: ${line.length} columns`]
      : [];
  });
}

/** A line with empty quotes, unless it is a comment. */
function withoutQuoted(line: string): string {
  if (/^\s*(?:\/\/|\/?\*|# )/.test(line)) return line;
  return line.replaceAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''");
}
