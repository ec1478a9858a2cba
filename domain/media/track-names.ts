import { languageName } from './languages.ts';

/** Quoted strings of a playlist cannot contain these, and have no escapes (RFC 8216, section 4.2). */
const unquotable = /[\p{Cc}"\u2028\u2029]+/gu;
/** As much of a name as fits into a player's menu. */
const nameCharactersMax = 60;

/** Whether `name` may be the name of a track: a clean title, and perhaps a number that makes it unique. */
export function isTrackName(name: string): boolean {
  return name !== '' && name.length <= nameCharactersMax + 5 && name.replace(unquotable, '') === name;
}

/** The name of a track in a menu: its title, else its language, else `fallback`. */
export function trackName(title: string | undefined, language: string | null, fallback: string): string {
  const clean = (title ?? '').replace(unquotable, ' ').trim().slice(0, nameCharactersMax);
  if (clean !== '') return clean;
  return language === null ? fallback : languageName(language);
}

/** The names, with a number behind each that is taken. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let number = 2; taken.has(unique); number += 1) unique = `${name} ${number}`;
    taken.add(unique);
    return unique;
  });
}
