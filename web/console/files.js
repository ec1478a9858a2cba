import { h } from 'preact';
import { useState } from 'preact/hooks';
import { ask, root } from './api.js';
import { html, useLoaded } from './base.js';
import { bytesText } from './format.js';
import { canSign, imageAddress } from './links.js';
import { action, card } from './parts.js';

// The objects of a media, to be downloaded one by one; of segments, which only players ask for, their number.

/** @import { MediaFile } from './types.ts' */

const pageSize = 1000;
/** A media of more is shown in part: a stream of ten hours has about so many. */
const pagesMax = 20;
const imageEnds = /\.(?:jpe?g|png|webp|avif|gif)$/;
/** The names of files that only players ask for: they are counted, not named one by one. */
const segmentPattern = /\/(?:seg|sheet)_\d+\.\w+$/;

/** @param {{ hash: string }} props */
export function FilesCard({ hash }) {
  const [listed, setListed] = useState(/** @type {{ files: MediaFile[], isWhole: boolean } | null} */ (null));
  const load = async () => {
    /** @type {MediaFile[]} */
    const files = [];
    /** @type {string | null | undefined} */
    let cursor;
    for (let page = 0; page < pagesMax && cursor !== null; page += 1) {
      const query = { limit: pageSize, ...(cursor ? { cursor } : {}) };
      const read = await ask((http) => http.GET('/api/media/{hash}/files', { params: { path: { hash }, query } }));
      files.push(...read.files);
      cursor = read.next_cursor;
    }
    setListed({ files, isWhole: cursor === null });
  };
  return card('Files', {}, listed === null ? action('List the files', load, '', 'more') : listOf(hash, listed));
}

/** @param {string} hash @param {{ files: readonly MediaFile[], isWhole: boolean }} listed */
function listOf(hash, { files, isWhole }) {
  const groups = Map.groupBy(
    files.filter(({ key }) => segmentPattern.test(key)),
    ({ key }) => pathOf(key).replace(/[^/]+$/, ''),
  );
  const whole = files.reduce((sum, { size }) => sum + size, 0);
  return html`
    <ul class="job-list files" aria-label="Files">
      ${[...groups].map(([folder, parts]) => groupRow(folder, parts))}
      ${files.filter(({ key }) => !segmentPattern.test(key)).map((file) => rowOf(hash, file))}
    </ul>
    <p class="soft">${files.length.toLocaleString('en')}${isWhole ? '' : '+'} files, ${bytesText(whole)}.</p>`;
}

/** @param {string} folder @param {readonly MediaFile[]} parts */
function groupRow(folder, parts) {
  const bytes = parts.reduce((sum, { size }) => sum + size, 0);
  const count = `${parts.length.toLocaleString('en')} ${parts.length === 1 ? 'segment' : 'segments'}`;
  return html`<li key=${folder}>
    <code class="break">${folder === '' ? '/' : folder}</code><span class="soft">${count}, ${bytesText(bytes)}</span>
  </li>`;
}

/** `videos/<prefix>/<hash>/…` and `images/<prefix>/<hash>/…` @param {string} key */
const pathOf = (key) => key.split('/').slice(3).join('/');

/** @param {string} hash @param {MediaFile} file */
function rowOf(hash, { key, size }) {
  const path = pathOf(key);
  return html`<li key=${key}>
    <code class="break" title=${key}>${path}</code>
    <span class="file-end"><span class="soft">${bytesText(size)}</span>${canSign() && h(Download, { hash, path, id: key })}</span>
  </li>`;
}

/**
 * Images have signed addresses, objects of a stream open ones: what is encrypted stays so.
 *
 * @param {{ hash: string, path: string, id: string }} props `id`: the key
 */
function Download({ hash, path, id }) {
  const { data: address } = useLoaded(async () => {
    if (imageEnds.test(path)) return (await imageAddress(id)) ?? '';
    const segments = [hash, ...path.split('/')].map((segment) => encodeURIComponent(segment));
    return new URL(`stream/${segments.join('/')}`, root).href;
  }, [id]);
  if (address === '') return null;
  return html`<a class="button small" download=${path.replaceAll('/', '-')} aria-label=${`Download ${path}`}
    href=${address ?? undefined}>Download</a>`;
}
