import { fitText } from '../text.ts';
import { languageName } from './languages.ts';

/** Quoted strings of a playlist cannot contain these, and have no escapes (RFC 8216, section 4.2). */
const unquotable = /"+/g;
/** As much of a name as fits into a player's menu. */
const nameCharactersMax = 60;
/** The length of a name with the number that makes it unique. */
export const trackNameMax = nameCharactersMax + 5;

/** As much of a title as is looked at: quotes may fill a part of it. */
const titleReadMax = 4 * nameCharactersMax;

/** Whether `name` may be the name of a track: a clean title, and perhaps a number that makes it unique. */
export function isTrackName(name: string): boolean {
  return name !== '' && fitText(name, trackNameMax) === name && !name.includes('"');
}

/** The name of a track in a menu: its title, else its language, else `fallback`. */
export function trackName(title: string | undefined, language: string | null, fallback: string): string {
  const clean = fitText(fitText(title ?? '', titleReadMax).replace(unquotable, ' '), nameCharactersMax);
  if (clean !== '') return clean;
  return language === null ? fallback : fitText(languageName(language), nameCharactersMax);
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
