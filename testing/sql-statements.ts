// Finds the SQL statements in the text of a source file, to compare them with the statements that tests have run.

interface Literal {
  /** The text between the places that are filled in. */
  readonly pieces: readonly string[];
  /** The index after its end. */
  readonly end: number;
}

const beginsStatement = /^\s*(?:select|update|insert|delete|with)\s/;

/** For each statement of the file a pattern that its text matches, whatever is filled in. */
export function statementPatterns(source: string): RegExp[] {
  return literalsOf(source)
    .filter(({ pieces }) => beginsStatement.test(pieces[0] ?? ''))
    .map(({ pieces }) => new RegExp(pieces.map(patternOf).join(String.raw`[\s\S]*`)));
}

const patternOf = (piece: string) =>
  piece
    .trim()
    .replaceAll(/[$()*+.?[\]\\^{|}]/g, String.raw`\$&`)
    .replaceAll(/\s+/g, String.raw`\s+`);

/** The strings and templates of a source file, those inside of templates too. */
function literalsOf(source: string): Literal[] {
  const found: Literal[] = [];
  for (let index = 0; index < source.length; index += 1) {
    const begin = source.slice(index, index + 2);
    if (begin === '//') index = endOfToken(source, '\n', index);
    else if (begin === '/*') index = endOfToken(source, '*/', index);
    else if (`'"\``.includes(source.charAt(index))) {
      const literal = literalAt(source, index, found);
      found.push(literal);
      index = literal.end - 1;
    }
  }
  return found;
}

function endOfToken(source: string, closing: string, from: number): number {
  const index = source.indexOf(closing, from);
  return index === -1 ? source.length : index;
}

/** The literal that begins at `from`; what is inside of its filled-in places is added to `found`. */
function literalAt(source: string, from: number, found: Literal[]): Literal {
  const quote = source.charAt(from);
  const pieces = [''];
  let index = from + 1;
  for (; index < source.length && source.charAt(index) !== quote; index += 1) {
    if (quote === '`' && source.startsWith('${', index)) {
      index = placeAt(source, index + 2, found);
      pieces.push('');
    } else pieces[pieces.length - 1] += source.charAt(index);
  }
  return { pieces, end: index + 1 };
}

/** The index of the brace that closes a filled-in place. */
function placeAt(source: string, from: number, found: Literal[]): number {
  let index = from;
  for (let depth = 1; index < source.length; index += 1) {
    const character = source.charAt(index);
    if (`'"\``.includes(character)) {
      const literal = literalAt(source, index, found);
      found.push(literal);
      index = literal.end - 1;
    } else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) break;
  }
  return index;
}
