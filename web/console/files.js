import { h } from 'preact';
import { useState } from 'preact/hooks';
import { ask, root } from './api.js';
import { html, useLoaded } from './base.js';
import { bytesText } from './format.js';
import { canSign, imageAddress } from './links.js';
import { action, card } from './parts.js';

// The objects of a media, to be downloaded one by one. They are listed once they are asked for: a long video has
// thousands.

/** @import { MediaFile } from './types.ts' */

const pageSize = 100;
const imageEnds = /\.(?:jpe?g|png|webp|avif|gif)$/;

/** @param {{ hash: string }} props */
export function FilesCard({ hash }) {
  const [files, setFiles] = useState(/** @type {MediaFile[]} */ ([]));
  const [cursor, setCursor] = useState(/** @type {string | null | undefined} */ (undefined));
  const load = async () => {
    const query = { limit: pageSize, ...(cursor ? { cursor } : {}) };
    const page = await ask((http) => http.GET('/api/media/{hash}/files', { params: { path: { hash }, query } }));
    setFiles((before) => [...before, ...page.files]);
    setCursor(page.next_cursor);
  };
  return card(
    'Files',
    {},
    html`<ul class="job-list files" aria-label="Files" hidden=${cursor === undefined}>
      ${files.map((file) => rowOf(hash, file))}
    </ul>`,
    cursor !== null && action(cursor === undefined ? 'List the files' : 'More files', load, '', 'more'),
  );
}

/** @param {string} hash @param {MediaFile} file */
function rowOf(hash, { key, size }) {
  // `videos/<prefix>/<hash>/…` and `images/<prefix>/<hash>/…`
  const path = key.split('/').slice(3).join('/');
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
