import { api, root } from './api.js';
import { announce, h } from './dom.js';
import { bytesText } from './format.js';
import { canSign, imageAddress } from './links.js';
import { card, whileDisabled } from './parts.js';

// The objects of a media, to be downloaded one by one. They are listed once they are asked for: a long video has
// thousands.

const pageSize = 100;
const imageEnds = /\.(?:jpe?g|png|webp|avif|gif)$/;

export function filesCard({ hash }) {
  const rows = h('ul', { class: 'job-list files', 'aria-label': 'Files', hidden: true });
  const more = h('button', { type: 'button', class: 'button' }, 'List the files');
  let cursor;
  const load = async () => {
    try {
      const page = await api.mediaFiles(hash, { limit: pageSize, cursor });
      rows.hidden = false;
      rows.append(...page.files.map((file) => rowOf(hash, file)));
      cursor = page.next_cursor;
      more.textContent = 'More files';
      more.hidden = cursor === null;
    } catch (problem) {
      announce(problem.message, 'fault');
    }
  };
  more.addEventListener('click', () => void whileDisabled(more, load));
  return card('Files', {}, rows, more);
}

function rowOf(hash, { key, size }) {
  // `videos/<prefix>/<hash>/…` and `images/<prefix>/<hash>/…`
  const path = key.split('/').slice(3).join('/');
  return h(
    'li',
    {},
    h('code', { class: 'break', title: key }, path),
    h('span', { class: 'file-end' }, h('span', { class: 'soft' }, bytesText(size)), downloadOf({ hash, key, path })),
  );
}

/** Images have signed addresses, objects of a stream open ones: what is encrypted stays so. */
function downloadOf({ hash, key, path }) {
  if (!canSign()) return null;
  const props = { class: 'button small', download: path.replaceAll('/', '-'), 'aria-label': `Download ${path}` };
  if (!imageEnds.test(path)) {
    const segments = [hash, ...path.split('/')].map((segment) => encodeURIComponent(segment));
    return h('a', { ...props, href: new URL(`stream/${segments.join('/')}`, root).href }, 'Download');
  }
  const link = h('a', props, 'Download');
  void imageAddress(key).then((address) => (address ? (link.href = address) : link.remove()));
  return link;
}
