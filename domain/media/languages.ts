/** Tags that say that the language is not known or not one (ISO 639-2). */
const unknown = ['und', 'unk', 'mis', 'zxx', 'mul', 'root'];

/**
 * The RFC 5646 tag for what a source's metadata says (`eng`, `ger`, `pt-BR`), the shortest there is; null when it names
 * no language.
 */
export function languageTag(named: string | undefined): string | null {
  if (named === undefined || !/^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/.test(named)) return null;
  try {
    const [tag] = Intl.getCanonicalLocales(named.replaceAll('_', '-'));
    return tag === undefined || unknown.includes(tag.split('-')[0] ?? '') ? null : tag;
  } catch {
    // Metadata may hold anything; what is no tag names no language.
    return null;
  }
}

/** What a listener reads: the language's name in English, or the tag itself. */
export function languageName(tag: string): string {
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(tag) ?? tag;
}
