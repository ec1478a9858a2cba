/** RFC 5646 asks for at least 35 (section 4.4.1). */
export const languageLengthMax = 35;

/** ISO 639-2 codes for an unknown language, several languages or none. */
const unknown = ['und', 'unk', 'mis', 'zxx', 'mul'];

/**
 * The shortest RFC 5646 tag for a language in a source's metadata (`eng`, `ger`, `pt-BR`); null when it states none.
 */
export function languageTag(named: string | undefined): string | null {
  if (named === undefined || named.length > languageLengthMax) return null;
  try {
    const tags = Intl.getCanonicalLocales(named.replaceAll('_', '-'));
    return tags.find((tag) => tag.length <= languageLengthMax && !unknown.includes(tag.split('-')[0] ?? '')) ?? null;
  } catch {
    // Metadata may contain anything; an invalid tag states no language.
    return null;
  }
}

/** The language's name in English, or the tag itself. */
export function languageName(tag: string): string {
  // Names are of languages, scripts and regions: extensions and private parts have none.
  const known = tag.replace(/-[\da-z]-.*$/i, '');
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(known) ?? tag;
}
