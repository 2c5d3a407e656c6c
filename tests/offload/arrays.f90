! SPDX-License-Identifier: MIT
! OpenMP and OpenACC in Fortran (whichever the compiler is told): arrays, sections, allocatables, derived types, intrinsics, complex
! numbers, internal procedures, loops of several indices. What it prints is the same on a device as on the host.
module things
  implicit none
  type point
    real(8) :: x, y
    integer :: k
  end type
  integer, parameter :: n = 48
contains
  pure real(8) function norm(p)
    !$omp declare target
    !$acc routine seq
    type(point), intent(in) :: p
    norm = sqrt(p%x * p%x + p%y * p%y) + p%k
  end function
  recursive integer function steps(m) result(r)
    !$omp declare target
    !$acc routine seq
    integer, value :: m
    if (m == 1) then
      r = 0
    else if (mod(m, 2) == 0) then
      r = 1 + steps(m / 2)
    else
      r = 1 + steps(3 * m + 1)
    end if
  end function
end module

program arrays
  use things
  implicit none
  call products()
  call points()
  call waves()
  call sections()
  call whole()
  call where_it_was()
contains
  subroutine products()
    real(8), allocatable :: a(:, :), b(:, :), c(:, :)
    integer :: i, j, k
    real(8) :: s
    allocate(a(n, n), b(n, n), c(n, n))
    do j = 1, n
      do i = 1, n
        a(i, j) = mod(i * 3 + j, 7) - 3
        b(i, j) = mod(i + j * 5, 11) - 5
      end do
    end do
    !$omp target teams distribute parallel do collapse(2) private(s, k) map(to: a, b) map(from: c)
    !$acc parallel loop collapse(2) private(s) copyin(a, b) copyout(c)
    do j = 1, n
      do i = 1, n
        s = 0
        !$acc loop reduction(+: s)
        do k = 1, n
          s = s + a(i, k) * b(k, j)
        end do
        c(i, j) = s
      end do
    end do
    print '(a, 3i10)', 'products', int(sum(c)), int(maxval(c)), count(abs(c - matmul(a, b)) > 0)
  end subroutine
  subroutine points()
    type(point) :: p(200)
    integer :: i, top
    real(8) :: total
    do i = 1, size(p)
      p(i) = point(3 * i, 4 * i, mod(i, 9))
    end do
    total = 0
    top = 0
    !$omp target teams distribute parallel do map(tofrom: p) reduction(+: total) reduction(max: top)
    !$acc parallel loop copy(p) reduction(+: total) reduction(max: top)
    do i = 1, size(p)
      total = total + norm(p(i))
      top = max(top, steps(i))
      p(i)%k = ieor(p(i)%k, 5)
    end do
    print '(a, f12.2, 2i8)', 'points', total, top, sum(p%k)
  end subroutine
  subroutine waves()
    complex(8) :: z(300)
    real(8) :: e
    integer :: i
    !$omp target teams distribute parallel do map(from: z)
    !$acc parallel loop copyout(z)
    do i = 1, size(z)
      z(i) = exp(cmplx(0d0, 0.05d0 * i, 8)) * conjg(cmplx(1, i, 8))
    end do
    e = 0
    do i = 1, size(z)
      e = max(e, abs(z(i) - exp(cmplx(0d0, 0.05d0 * i, 8)) * conjg(cmplx(1, i, 8))) / i)
    end do
    print '(a, l2)', 'waves', e < 1d-14
  end subroutine
  subroutine sections()
    integer :: v(0:99, 3), t, i, h(10)
    v = 0
    h = 0
    !$omp target data map(tofrom: v) map(tofrom: h)
    !$acc data copy(v, h)
    do t = 1, 3
      !$omp target teams distribute parallel do
      !$acc parallel loop present(v)
      do i = 0, 99
        v(i, t) = i * t
      end do
    end do
    !$omp target teams distribute parallel do
    !$acc parallel loop present(v, h)
    do i = 0, 99
      !$omp atomic update
      !$acc atomic update
      h(1 + mod(v(i, 3), 10)) = h(1 + mod(v(i, 3), 10)) + 1
    end do
    !$omp target update from(v(:, 2))
    !$acc update self(v(:, 2))
    print '(a, 2i8)', 'sections', sum(v(:, 2)), v(99, 2)
    !$omp end target data
    !$acc end data
    print '(a, i8, 10i4)', 'histogram', sum(v), h
  end subroutine
  subroutine whole()
    real(4) :: a(64, 64), b(64, 64), s
    logical :: ok(64)
    integer :: i
    a = 2
    b = 0
    !$omp target map(to: a) map(from: b, s, ok)
    !$acc kernels copyin(a) copyout(b, s, ok)
    b = transpose(a) * 3 + 1
    b(2:63, 2:63) = a(1:62, 2:63) + a(3:64, 2:63)
    s = sum(b)
    do i = 1, 64
      ok(i) = any(b(i, :) > 6.5) .and. dot_product(a(i, :), b(i, :)) > 0
    end do
    !$acc end kernels
    !$omp end target
    print '(a, f10.1, i4)', 'whole', s, count(ok)
  end subroutine
  subroutine where_it_was()
    use iso_fortran_env, only: error_unit
#ifdef _OPENACC
    use openacc
#else
    use omp_lib
#endif
    logical :: host
    host = .true.
#ifdef _OPENACC
    !$acc parallel copyout(host)
    host = acc_on_device(acc_device_host)
    !$acc end parallel
#else
    !$omp target map(from: host)
    host = omp_is_initial_device()
    !$omp end target
#endif
    write (error_unit, '(a)') 'ran on the ' // trim(merge('host  ', 'device', host))
  end subroutine
end program
