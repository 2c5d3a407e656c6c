// SPDX-License-Identifier: MIT
//! candle on the device, by its own kernels and cuBLAS, against its CPU backend.
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor, D};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder, VarMap};
use candle_transformers::models::{bert, llama};

struct Judge {
    bad: usize,
}

impl Judge {
    fn near(&mut self, name: &str, near: f64, f: impl Fn(&Device) -> Result<Tensor>, gpu: &Device) {
        let flat = |d: &Device| -> Result<(Vec<usize>, Vec<f64>)> {
            let t = f(d)?;
            Ok((t.dims().to_vec(), t.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?))
        };
        let said = match (flat(&Device::Cpu), flat(gpu)) {
            (Ok((s, want)), Ok((t, got))) if s == t => {
                let most = want.iter().fold(1.0f64, |m, x| if x.is_finite() { m.max(x.abs()) } else { m });
                let off = want.iter().zip(&got).fold(0.0f64, |m, (a, b)| if a == b || (a.is_nan() && b.is_nan()) { m } else if (a - b).is_nan() { f64::INFINITY } else { m.max((a - b).abs()) });
                if off / most <= near { Ok(off / most) } else { Err(format!("off by {:e}", off / most)) }
            }
            (Ok((s, _)), Ok((t, _))) => Err(format!("{t:?}, not {s:?}")),
            (Err(e), _) => Err(format!("the CPU: {e}")),
            (_, Err(e)) => Err(e.to_string().lines().next().unwrap_or("").to_string()),
        };
        match said {
            Ok(off) => println!("ok {name} off by {off:.2e}"),
            Err(e) => {
                println!("FAIL {name}: {e}");
                self.bad += 1;
            }
        }
    }
}

/// The same numbers on every device.
fn random(seed: u64, shape: &[usize], d: &Device) -> Result<Tensor> {
    let mut s = seed.wrapping_mul(0x9e3779b97f4a7c15) | 1;
    let v: Vec<f32> = (0..shape.iter().product()).map(|_| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }).collect();
    Tensor::from_vec(v, shape, d)
}

fn main() -> Result<()> {
    let gpu = &Device::new_cuda(0)?;
    let mut j = Judge { bad: 0 };
    type Unary = fn(&Tensor) -> Result<Tensor>;
    let unary: [(&str, Unary); 20] = [
        ("exp", Tensor::exp), ("log", |x| x.abs()?.log()), ("sin", Tensor::sin), ("cos", Tensor::cos), ("tanh", Tensor::tanh), ("abs", Tensor::abs), ("neg", Tensor::neg), ("recip", |x| (x + 3.)?.recip()),
        ("sqr", Tensor::sqr), ("sqrt", |x| x.abs()?.sqrt()), ("gelu", Tensor::gelu), ("gelu_erf", Tensor::gelu_erf), ("erf", Tensor::erf), ("silu", Tensor::silu), ("relu", Tensor::relu), ("ceil", Tensor::ceil),
        ("floor", Tensor::floor), ("round", |x| (x * 7.3)?.round()), ("sign", Tensor::sign), ("elu", |x| x.elu(0.7)),
    ];
    for t in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let near = match t { DType::F64 => 1e-12, DType::F32 => 2e-6, DType::F16 => 2e-3, _ => 1.6e-2 };
        let a = |d: &Device| (random(1, &[7, 33], d)? * 3.)?.to_dtype(t);
        let b = |d: &Device| (random(2, &[7, 33], d)? + 2.)?.to_dtype(t);
        for (name, f) in &unary {
            j.near(&format!("{t:?} {name}"), near, |d| f(&a(d)?), gpu);
            j.near(&format!("{t:?} {name} transposed"), near, |d| f(&a(d)?.t()?), gpu);
        }
        j.near(&format!("{t:?} arithmetic"), near, |d| ((a(d)? + b(d)?)? * (a(d)? - b(d)?)?)? / b(d)?, gpu);
        j.near(&format!("{t:?} spread"), near, |d| a(d)?.broadcast_mul(&b(d)?.i0(0)?), gpu);
        j.near(&format!("{t:?} maximum, minimum"), near, |d| a(d)?.maximum(&b(d)?)?.minimum(&(a(d)? * 0.5)?), gpu);
        j.near(&format!("{t:?} comparison"), 0., |d| a(d)?.gt(&b(d)?)?.where_cond(&a(d)?, &b(d)?), gpu);
        j.near(&format!("{t:?} power"), near * 20., |d| b(d)?.powf(1.7), gpu);
        j.near(&format!("{t:?} sum"), near * 4., |d| a(d)?.sum(1), gpu);
        j.near(&format!("{t:?} mean of columns"), near * 4., |d| a(d)?.mean(0), gpu);
        j.near(&format!("{t:?} extremes"), 0., |d| a(d)?.max(1)? + a(d)?.min(1)?, gpu);
        j.near(&format!("{t:?} places of extremes"), 0., |d| Tensor::cat(&[a(d)?.argmax(1)?, a(d)?.argmin(D::Minus1)?], 0), gpu);
        j.near(&format!("{t:?} product"), near * 8., |d| a(d)?.matmul(&b(d)?.t()?), gpu);
        j.near(&format!("{t:?} products of a batch"), near * 8., |d| random(3, &[3, 20, 17], d)?.to_dtype(t)?.matmul(&random(4, &[3, 17, 9], d)?.to_dtype(t)?), gpu);
        j.near(&format!("{t:?} softmax"), near, |d| candle_nn::ops::softmax_last_dim(&a(d)?), gpu);
        if t != DType::BF16 {
            // the CPU has none of that type
            j.near(&format!("{t:?} convolution"), near * 10., |d| random(5, &[2, 4, 9, 11], d)?.to_dtype(t)?.conv2d(&random(6, &[6, 2, 3, 3], d)?.to_dtype(t)?, 1, 2, 1, 2), gpu);
            j.near(&format!("{t:?} convolution of a line"), near * 10., |d| random(5, &[2, 4, 19], d)?.to_dtype(t)?.conv1d(&random(6, &[6, 4, 3], d)?.to_dtype(t)?, 1, 2, 1, 1), gpu);
        }
        j.near(&format!("{t:?} pools"), near, |d| random(5, &[2, 4, 8, 10], d)?.to_dtype(t)?.max_pool2d(2)?.avg_pool2d(2), gpu);
        j.near(&format!("{t:?} larger"), near, |d| random(5, &[2, 4, 5, 6], d)?.to_dtype(t)?.upsample_nearest2d(10, 13), gpu);
        j.near(&format!("{t:?} sorted"), 0., |d| a(d)?.sort_last_dim(false)?.0.contiguous(), gpu);
        // what is alike has no order of its own
        j.near(&format!("{t:?} order"), 0., |d| a(d)?.gather(&a(d)?.arg_sort_last_dim(true)?, 1), gpu);
    }
    for (from, to) in [(DType::F32, DType::U8), (DType::F32, DType::U32), (DType::F32, DType::I64), (DType::F32, DType::BF16), (DType::F32, DType::F16), (DType::F64, DType::F32), (DType::BF16, DType::F32), (DType::F16, DType::F64), (DType::I64, DType::F32), (DType::U8, DType::F32)] {
        j.near(&format!("{from:?} as {to:?}"), 0., |d| (random(8, &[500], d)?.abs()? * 200.)?.to_dtype(from)?.to_dtype(to), gpu);
    }
    let places = |d: &Device| Tensor::new(&[[3u32, 0, 2], [1, 1, 4]], d);
    j.near("gather", 0., |d| random(9, &[2, 5], d)?.gather(&places(d)?, 1), gpu);
    j.near("scatter_add", 1e-6, |d| random(9, &[2, 5], d)?.scatter_add(&places(d)?, &random(10, &[2, 3], d)?, 1), gpu);
    j.near("index_select", 0., |d| random(9, &[9, 5], d)?.index_select(&Tensor::new(&[8u32, 0, 3, 3], d)?, 0), gpu);
    j.near("index_add", 1e-6, |d| random(9, &[9, 5], d)?.index_add(&Tensor::new(&[8u32, 0, 3], d)?, &random(11, &[3, 5], d)?, 0), gpu);
    j.near("embedding", 0., |d| random(9, &[50, 16], d)?.embedding(&Tensor::new(&[4u32, 49, 0], d)?), gpu);
    j.near("cat, narrow, pad, roll", 0., |d| Tensor::cat(&[random(1, &[3, 5], d)?, random(2, &[3, 4], d)?], 1)?.narrow(1, 2, 6)?.pad_with_zeros(0, 1, 2)?.roll(1, 1), gpu);
    j.near("layer norm", 3e-6, |d| candle_nn::ops::layer_norm(&random(1, &[40, 96], d)?, &random(2, &[96], d)?, &random(3, &[96], d)?, 1e-5), gpu);
    j.near("rms norm", 3e-6, |d| candle_nn::ops::rms_norm(&random(1, &[40, 96], d)?, &random(2, &[96], d)?, 1e-5), gpu);
    j.near("rope", 3e-6, |d| candle_nn::rotary_emb::rope(&random(1, &[2, 4, 10, 16], d)?, &random(2, &[10, 8], d)?.cos()?, &random(2, &[10, 8], d)?.sin()?), gpu);
    j.near("cumsum", 3e-5, |d| random(1, &[5, 77], d)?.cumsum(1), gpu);
    // weights of few bits: rows of 1 (a vector by q8_1) and many
    for q in [GgmlDType::Q4_0, GgmlDType::Q4_1, GgmlDType::Q5_0, GgmlDType::Q5_1, GgmlDType::Q8_0, GgmlDType::Q2K, GgmlDType::Q3K, GgmlDType::Q4K, GgmlDType::Q5K, GgmlDType::Q6K] {
        for rows in [1, 5, 64] {
            // both round what is multiplied to bytes, in blocks of their own
            j.near(&format!("{q:?}, {rows} rows"), 3e-2, |d| {
                let w = QTensor::quantize_onto(&random(21, &[64, 512], &Device::Cpu)?, q, d)?;
                QMatMul::from_qtensor(w)?.forward(&random(22, &[rows, 512], d)?)
            }, gpu);
        }
        j.near(&format!("{q:?} as float"), 1e-6, |d| QTensor::quantize_onto(&random(21, &[64, 512], &Device::Cpu)?, q, d)?.dequantize(d), gpu);
    }
    // weights are the device's own random numbers: the CPU's are copied over
    let weights = |names: &VarMap, d: &Device| -> Result<()> {
        for (k, (_, v)) in names.data().lock().unwrap().iter().collect::<std::collections::BTreeMap<_, _>>().iter().enumerate() {
            v.set(&(random(100 + k as u64, v.dims(), d)? * 0.1)?)?;
        }
        Ok(())
    };
    j.near("training by AdamW", 2e-5, |d| {
        let m = VarMap::new();
        let vb = VarBuilder::from_varmap(&m, DType::F32, d);
        let (l1, l2) = (candle_nn::linear(8, 32, vb.pp("a"))?, candle_nn::linear(32, 3, vb.pp("b"))?);
        weights(&m, d)?;
        let mut o = AdamW::new(m.all_vars(), ParamsAdamW { lr: 0.02, ..Default::default() })?;
        let (x, y) = (random(30, &[64, 8], d)?, random(30, &[64, 8], d)?.narrow(1, 0, 3)?.argmax(1)?);
        let mut losses = vec![];
        for _ in 0..20 {
            let loss = candle_nn::loss::cross_entropy(&l2.forward(&l1.forward(&x)?.gelu()?)?, &y)?;
            o.backward_step(&loss)?;
            losses.push(loss);
        }
        Tensor::stack(&losses, 0)
    }, gpu);
    j.near("a llama", 2e-5, |d| {
        let c = llama::Config { hidden_size: 64, intermediate_size: 128, vocab_size: 100, num_hidden_layers: 3, num_attention_heads: 4, num_key_value_heads: 2, use_flash_attn: false, rms_norm_eps: 1e-5, rope_theta: 1e4,
            bos_token_id: None, eos_token_id: None, rope_scaling: None, max_position_embeddings: 64, tie_word_embeddings: false };
        let m = VarMap::new();
        let model = llama::Llama::load(VarBuilder::from_varmap(&m, DType::F32, d), &c)?;
        weights(&m, d)?;
        let mut cache = llama::Cache::new(true, DType::F32, &c, d)?;
        let first = model.forward(&Tensor::new(&[[1u32, 7, 42, 9, 77]], d)?, 0, &mut cache)?;
        Tensor::cat(&[first, model.forward(&Tensor::new(&[[5u32]], d)?, 5, &mut cache)?], 0)
    }, gpu);
    j.near("a BERT", 2e-5, |d| {
        let c = bert::Config { vocab_size: 100, hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, intermediate_size: 128, ..Default::default() };
        let m = VarMap::new();
        let model = bert::BertModel::load(VarBuilder::from_varmap(&m, DType::F32, d), &c)?;
        weights(&m, d)?;
        model.forward(&Tensor::new(&[[1u32, 7, 42, 9], [3, 4, 5, 6]], d)?, &Tensor::zeros((2, 4), DType::U32, d)?, None)
    }, gpu);
    std::process::exit((j.bad > 0) as i32);
}

trait First {
    fn i0(&self, k: usize) -> Result<Tensor>;
}
impl First for Tensor {
    fn i0(&self, k: usize) -> Result<Tensor> {
        self.get(k)
    }
}
