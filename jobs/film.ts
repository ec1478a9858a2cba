import { text } from 'node:stream/consumers';
import { filmImagesKey, filmKey, filmRecordKey, filmRecordsRoot } from '#domain/media/object-keys.ts';
import { type Film, type FilmImages, parseFilm, parseFilmImages } from '#domain/runner/film.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

/** What a job's source was split into; null when it was not. @throws KnownProblem `storage_error` */
export async function readFilm(jobId: string, media: ObjectStore, signal?: AbortSignal): Promise<Film | null> {
  const object = await media.get(filmKey(jobId), signal ? { signal } : {});
  return object === null ? null : parseFilm(await text(object.body));
}

/** The images that a job made beside its film; null where there are none. @throws KnownProblem `storage_error` */
export async function readFilmImages(jobId: string, media: ObjectStore): Promise<FilmImages | null> {
  const object = await media.get(filmImagesKey(jobId));
  return object === null ? null : parseFilmImages(await text(object.body));
}

/** A film, and what of it is finished. */
export interface FilmWork {
  readonly film: Film;
  readonly hasSound: boolean;
  /** The chunks with a record, counted from 0. */
  readonly finished: ReadonlySet<number>;
}

/**
 * What a job's source was split into, and what of it is finished, by whichever job; null when it was not split.
 *
 * @throws KnownProblem `storage_error`
 */
export async function findFilmWork(jobId: string, media: ObjectStore): Promise<FilmWork | null> {
  const film = await readFilm(jobId, media);
  if (film === null) return null;
  const keys = new Set<string>();
  for await (const { key } of media.list(filmRecordsRoot(film.rev))) keys.add(key);
  const finished = film.chunk_frames.keys().filter((chunk) => keys.has(filmRecordKey(film.rev, chunk)));
  return { film, finished: new Set(finished), hasSound: keys.has(filmRecordKey(film.rev, 'audio')) };
}
