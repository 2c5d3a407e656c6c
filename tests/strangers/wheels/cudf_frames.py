# SPDX-License-Identifier: MIT
"""cuDF, whose wheel has machine code and PTX for 12.0, against pandas: groups, joins, sorts, strings, dates, windows, files.
   cudf_frames.py [NAME...]"""
import sys, time, warnings; warnings.filterwarnings('ignore')
import cudf, pandas as pd, numpy as np
rng = np.random.default_rng(1)
n = 20000
pdf = pd.DataFrame({'k': rng.integers(0, 50, n), 'g': rng.integers(0, 7, n).astype('int8'), 'x': rng.standard_normal(n), 'y': rng.standard_normal(n).astype('float32'),
    's': rng.choice(['apple', 'Banana', 'cherry pie', 'dé', '', 'egg-plant 12'], n), 't': pd.Timestamp('2020-01-01') + pd.to_timedelta(rng.integers(0, 10**8, n), unit='s'), 'b': rng.random(n) < .3})
pdf.loc[rng.integers(0, n, 500), 'x'] = np.nan
gdf = cudf.from_pandas(pdf, nan_as_null=True)
small = pd.DataFrame({'k': np.arange(40), 'w': np.arange(40) * .5})
gsmall = cudf.from_pandas(small)
cases = []
def case(name, g, p, sort=None): cases.append((name, g, p, sort))
def both(name, f, **kw): case(name, lambda: f(gdf, gsmall, cudf), lambda: f(pdf, small, pd), **kw)
both('arith', lambda d, s, m: d.x * 2 + d.y - d.k / 3)
both('compare', lambda d, s, m: (d.y > .5) & ~d.b)
both('filter', lambda d, s, m: d[(d.k > 20) & (d.y < 0)])
for op in 'sum mean min max std var count median prod nunique first last'.split():
    both('groupby_' + op, lambda d, s, m, op=op: getattr(d.groupby('k', sort=True)[['x', 'y', 'g']] if op != 'prod' else d.groupby('k', sort=True)[['g']], op)() if op not in ('first', 'last') else getattr(d.sort_values(['k', 'x', 'y']).groupby('k', sort=True)[['y']], op)())
both('groupby_two', lambda d, s, m: d.groupby(['k', 'g'], sort=True).agg({'x': 'sum', 'y': 'max'}))
both('groupby_string', lambda d, s, m: d.groupby('s', sort=True).x.sum())
both('groupby_cumsum', lambda d, s, m: d.groupby('k').x.cumsum().fillna(0.))
both('groupby_rank', lambda d, s, m: d.groupby('k').y.rank())
both('groupby_quantile', lambda d, s, m: d.groupby('k', sort=True).y.quantile(.3))
both('groupby_size', lambda d, s, m: d.groupby('g', sort=True).size())
both('groupby_shift', lambda d, s, m: d.groupby('k').y.shift(1))
for how in ('inner', 'left', 'outer', 'right'):
    both('merge_' + how, lambda d, s, m, how=how: d[['k', 'y']].merge(s, on='k', how=how).sort_values(['k', 'y', 'w']).reset_index(drop=True))
both('merge_string', lambda d, s, m: d[['s', 'y']].head(300).merge(d[['s', 'k']].tail(100), on='s').sort_values(['s', 'y', 'k']).reset_index(drop=True))
both('leftsemi', lambda d, s, m: d[d.k.isin(s.k)])
both('sort', lambda d, s, m: d.sort_values(['k', 'y']))
both('sort_desc', lambda d, s, m: d.sort_values(['y', 'k', 'x'], ascending=False))
both('sort_string', lambda d, s, m: d.sort_values(['s', 'y'])[['s', 'y']])
both('nlargest', lambda d, s, m: d.nlargest(20, 'y')[['y', 'k']])
for op in 'sum mean min max std var median count skew kurt prod any all nunique'.split():
    both('reduce_' + op, lambda d, s, m, op=op: getattr(d.y if op not in ('any', 'all') else d.b, op)())
both('quantile', lambda d, s, m: d.y.quantile([.1, .5, .99]))
for op in 'cumsum cummin cummax cumprod'.split():
    both(op, lambda d, s, m, op=op: getattr((d.y * .01 + 1) if op == 'cumprod' else d.y.astype('float64'), op)())
both('rolling_sum', lambda d, s, m: d.y.rolling(7).sum())
both('rolling_max', lambda d, s, m: d.y.rolling(20, min_periods=3).max())
both('rolling_std', lambda d, s, m: d.y.rolling(5).std())
both('ewm', lambda d, s, m: d.y.ewm(alpha=.3).mean())
both('diff_shift', lambda d, s, m: d.y.diff(2) + d.y.shift(-1))
both('unique', lambda d, s, m: d.s.drop_duplicates().sort_values().reset_index(drop=True))
both('value_counts', lambda d, s, m: d.k.value_counts().sort_index())
both('fillna', lambda d, s, m: d.x.fillna(7.))
both('dropna', lambda d, s, m: d.dropna())
both('isnull', lambda d, s, m: d.x.isnull())
both('where', lambda d, s, m: d.y.where(d.y > 0, -1))
both('clip', lambda d, s, m: d.y.clip(-.5, .5))
both('replace', lambda d, s, m: d.k.replace(3, 99))
both('cast', lambda d, s, m: d.y.astype('int32') + d.k.astype('float64'))
both('to_string', lambda d, s, m: d.k.astype('str'))
both('upper', lambda d, s, m: d.s.str.upper())
both('len', lambda d, s, m: d.s.str.len())
both('contains', lambda d, s, m: d.s.str.contains('an'))
both('regex', lambda d, s, m: d.s.str.contains(r'[a-c]\w+y|\d+$'))
both('extract', lambda d, s, m: d.s.str.extract(r'(\w+)[ -](\w+)'))
both('str_replace', lambda d, s, m: d.s.str.replace('e', 'EE', regex=False))
both('regex_replace', lambda d, s, m: d.s.str.replace(r'[aeiou]+', '_', regex=True))
both('split', lambda d, s, m: d.s.str.split(' ', expand=True, n=1))
both('slice', lambda d, s, m: d.s.str[1:4])
both('strip', lambda d, s, m: d.s.str.strip('ae'))
both('find', lambda d, s, m: d.s.str.find('e'))
both('concat_str', lambda d, s, m: d.s + '/' + d.s)
both('startswith', lambda d, s, m: d.s.str.startswith('B'))
both('year', lambda d, s, m: d.t.dt.year)
both('weekday', lambda d, s, m: d.t.dt.weekday)
both('floor', lambda d, s, m: d.t.dt.floor('h'))
both('strftime', lambda d, s, m: d.t.dt.strftime('%Y-%m-%d'))
both('timedelta', lambda d, s, m: (d.t - d.t.min()).dt.total_seconds())
both('resample', lambda d, s, m: d.set_index('t').y.resample('30D').sum())
both('concat', lambda d, s, m: m.concat([d[['k', 'y']], d[['k', 'y']]], ignore_index=True))
both('melt', lambda d, s, m: d[['k', 'x', 'y']].head(100).melt(id_vars='k'))
both('pivot', lambda d, s, m: d.groupby(['k', 'g']).y.sum().reset_index().pivot(index='k', columns='g', values='y'))
both('category', lambda d, s, m: d.s.astype('category').cat.codes)
both('cut', lambda d, s, m: m.cut(d.y, [-9, -1, 0, 1, 9]).cat.codes if m is pd else m.cut(d.y, [-9, -1, 0, 1, 9]).cat.codes)
both('get_dummies', lambda d, s, m: m.get_dummies(d.s).astype('int'))
both('iloc', lambda d, s, m: d.iloc[100:2000:3])
both('take', lambda d, s, m: d.take(list(range(0, n, 17))))
both('transpose', lambda d, s, m: s.T)
both('corr', lambda d, s, m: d[['x', 'y', 'k']].dropna().corr())
both('cov', lambda d, s, m: d[['y', 'k']].cov())
both('describe', lambda d, s, m: d[['y', 'k']].describe())
both('rank', lambda d, s, m: d.y.rank())
both('searchsorted', lambda d, s, m: s.w.searchsorted(d.y.head(100).values if m is pd else d.y.head(100)))
both('interpolate', lambda d, s, m: d.x.interpolate().iloc[500:])
both('apply', lambda d, s, m: d.y.apply(lambda v: v * 2 + 1 if v > 0 else v - 1))
both('apply_row', lambda d, s, m: d[['k', 'y']].apply(lambda r: r['k'] * 2 + r['y'], axis=1))
both('eval', lambda d, s, m: d.eval('y * 2 + k'))
both('query', lambda d, s, m: d.query('k > 10 and y < 0'))
both('lists', lambda d, s, m: d.groupby('g', sort=True).k.agg(list if m is pd else 'collect').apply(len) if m is pd else d.groupby('g', sort=True).k.agg('collect').list.len())
both('hash', lambda d, s, m: d.k.nunique() + (d.k if m is pd else d.k).max())
both('decimal', lambda d, s, m: d.k.sum() if m is pd else int(d.k.astype(cudf.Decimal64Dtype(12, 2)).sum()))
def files(d, s, m):
    import tempfile, os
    t = tempfile.mkdtemp()
    a = d[['k', 'x', 'y', 's']].head(3000)
    a.to_parquet(t + '/a.parquet'); r = m.read_parquet(t + '/a.parquet')
    return r
both('parquet', files)
def csv(d, s, m):
    import io
    return m.read_csv(io.StringIO(pdf[['k', 'y', 's']].head(2000).to_csv(index=False)), keep_default_na=True)
both('csv', csv)
def js(d, s, m):
    import io
    return m.read_json(io.StringIO(pdf[['k', 'y']].head(500).to_json(orient='records', lines=True)), lines=True)
both('json', js)
def orc(d, s, m):
    import tempfile
    t = tempfile.mkdtemp()
    gdf[['k', 'y', 's']].head(1000).to_orc(t + '/a.orc')
    return m.read_orc(t + '/a.orc')
both('orc', orc)
only = sys.argv[1:]
def plain(v):
    return v.to_pandas() if hasattr(v, 'to_pandas') else v
bad = 0
for name, g, p, _ in cases:
    if only and name not in only: continue
    t = time.time()
    try: want = p()
    except Exception as e: print('skip', name, 'pandas:', repr(e)[:100]); continue
    try: got = plain(g())
    except Exception as e:
        print('FAIL' if any(w in repr(e).lower() for w in ('cuda', 'rmm', 'memory')) else 'skip', name, type(e).__name__, str(e)[:300].replace('\n', ' '), '%.1f' % (time.time() - t), flush=True)
        bad += any(w in repr(e).lower() for w in ('cuda', 'rmm', 'memory'))
        continue
    try:
        if isinstance(want, pd.DataFrame):
            got.columns = want.columns
            pd.testing.assert_frame_equal(got.reset_index(), want.reset_index(), check_dtype=False, check_names=False, rtol=1e-4, atol=1e-6, check_categorical=False, check_freq=False)
        elif isinstance(want, pd.Series):
            pd.testing.assert_series_equal(got.reset_index(drop=True), want.reset_index(drop=True), check_dtype=False, check_names=False, rtol=1e-4, atol=1e-6, check_freq=False)
        else:
            np.testing.assert_allclose(np.asarray(getattr(got, 'get', lambda: got)(), dtype=float), np.asarray(want, dtype=float), rtol=1e-4)
        print('ok', name, '%.2f' % (time.time() - t), flush=True)
    except Exception as e:
        print('FAIL', name, str(e)[:400].replace('\n', ' '), '%.1f' % (time.time() - t), flush=True); bad += 1
sys.exit(bad > 0)
